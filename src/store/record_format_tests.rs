//! Round trips of records, records of older versions, and damaged ones.

use super::*;
use crate::store::record::tests::sample;
use crate::store::{Constructed, Launch};
use proptest::prelude::*;

#[test]
fn round_trip() {
    let record = sample("a", 5);
    assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
}

#[test]
fn records_of_older_versions_are_read() {
    let mut record = sample("a", 5);
    let written = encode(&record).unwrap();
    // Behind the launches there is one byte that says that this one was finished, which version
    // 1 did not have, two for an empty identity and history, which version 2 did not have, three for
    // no times in MPI, which version 3 did not have, one for no orders of topologies, which
    // version 4 did not have, and five for no devices, which version 5 did not have.
    let body = &written[HEADER..];
    assert_eq!(body[body.len() - 12..], [0; 12]);
    for (version, less) in [(1, 12), (2, 11), (3, 9), (4, 6), (5, 5)] {
        let bytes = seal(MAGIC, version, &body[..body.len() - less]);
        assert_eq!(decode(&bytes).unwrap(), record, "version {version}");
        assert!(decode(&seal(MAGIC, version, body)).is_err());
    }
    record.unfinished = Some(super::super::Unfinished { missing: vec![4], ..Default::default() });
    assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
    record.unfinished = Some(super::super::Unfinished { missing: vec![5], ..Default::default() });
    assert!(decode(&encode(&record).unwrap()).is_err());
}

#[test]
fn head_reads_the_fields_in_front() {
    let dir = tempfile::tempdir().unwrap();
    for long in [1, 40_000] {
        let mut record = sample("some-key", 7);
        record.command = vec!["x".repeat(long)];
        let path = dir.path().join("r");
        std::fs::write(&path, encode(&record).unwrap()).unwrap();
        let (head, _) = read_head(&path).unwrap();
        assert_eq!((head.key.as_str(), head.program), ("some-key", record.program));
        assert_eq!((head.recorded_at, head.offsets), (record.recorded_at, 8));
    }
}

#[test]
fn each_damage_has_its_own_message() {
    let good = encode(&sample("a", 3)).unwrap();
    let message = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    assert!(message(b"src,dst,bytes\n").contains("not a rankweave record"));
    assert!(message(&good[..10]).contains("header is incomplete"));
    assert!(message(&good[..good.len() - 1]).contains("cut short"));
    assert!(message(&[&good[..], b"x"].concat()).contains("followed by 1 bytes"));
    let mut flipped = good.clone();
    flipped[HEADER + 3] ^= 1;
    assert!(message(&flipped).contains("checksum"));
    let mut newer = good.clone();
    newer[8] = 200;
    assert_eq!(decode(&newer).unwrap_err().kind(), ErrorKind::NewerVersion);
    let mut zero = good;
    zero[8] = 0;
    assert!(message(&zero).contains("version 0"));
}

#[test]
fn a_matrix_out_of_range_is_refused() {
    let mut record = sample("a", 3);
    record.launch.process_of_task = vec![0, 0, 1];
    let message = decode(&encode(&record).unwrap()).unwrap_err().to_string();
    assert!(message.contains("contradicts itself"), "{message}");
}

/// Files of older versions, which must stay readable whatever becomes of the types.
#[test]
fn committed_records_of_older_versions_are_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    for version in [1, 2, 3, 4, 5] {
        let record = read_file(&directory.join(format!("version{version}.rkw"))).unwrap();
        assert_eq!(record.key, "fixture-n4", "version {version}");
        assert_eq!(record.matrix.tasks(), 4);
        assert_eq!(record.launch.process_of_task, [0, 2, 1, 3]);
        assert_eq!(record.launch.wall_seconds, 12.5);
        assert_eq!(record.baseline.as_ref().map(|b| b.internode_bytes), Some(4096));
        assert_eq!(record.unfinished.is_some(), version >= 2);
        let (identity, launches) = if version >= 3 { ("fixture-0badcafe", 1) } else { ("", 0) };
        assert_eq!((record.identity.as_str(), record.history.len()), (identity, launches));
        let calls = record.launch.in_mpi.map(|in_mpi| in_mpi.calls);
        assert_eq!(calls, (version >= 4).then_some(99));
        assert_eq!(record.constructed.len(), usize::from(version >= 5));
        let again = decode(&encode(&record).unwrap()).unwrap();
        assert_eq!(again, record);
    }
}

#[test]
fn identity_and_history_are_kept() {
    let mut record = sample("a", 5);
    record.identity = "a-0badcafe".into();
    let in_mpi = Some(InMpi { mean_seconds: 1.5, max_seconds: 2.0, calls: 99, error_seconds: 0.0 });
    record.launch.in_mpi = in_mpi;
    record.baseline = Some(Launch { in_mpi, ..Launch::default() });
    record.history = vec![Past { id: 7, wall_seconds: 2.5, in_mpi, ..Past::default() }];
    let order = |tasks: &[u32]| Constructed { question: 9, task_of_vertex: tasks.to_vec() };
    record.constructed = vec![order(&[4, 0]), order(&[3])];
    assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
    for wrong in [[0, 5], [1, 1]] {
        let wrong = Record { constructed: vec![order(&wrong)], ..record.clone() };
        assert!(decode(&encode(&wrong).unwrap()).is_err());
    }
    record.history.push(Past { id: 8, wall_seconds: f64::NAN, ..Past::default() });
    let read = decode(&encode(&record).unwrap()).unwrap();
    assert_eq!(read.history.len(), 1, "what cannot be right is dropped");
    assert_eq!(read.history[0].in_mpi, in_mpi);
    record.launch.in_mpi = Some(InMpi { mean_seconds: f64::NAN, ..InMpi::default() });
    assert_eq!(decode(&encode(&record).unwrap()).unwrap().launch.in_mpi, None);
}

#[test]
fn devices_are_kept() {
    let mut record = sample("a", 5);
    let devices = Devices {
        rails_of_node: vec![vec!["mlx5_0".into(), "mlx5_1".into()], Vec::new()],
        gpus_of_node: vec![vec!["cuda0".into()], vec!["cuda0".into()]],
        rail_of_process: vec![1, 0, 1, 0, crate::store::NO_DEVICE],
        gpu_of_process: vec![0; 5],
    };
    record.launch.placement.devices = devices.clone();
    record.baseline = Some(record.launch.clone());
    assert_eq!(decode(&encode(&record).unwrap()).unwrap(), record);
    record.launch.placement.devices.rail_of_process[4] = 0;
    assert!(decode(&encode(&record).unwrap()).is_err(), "a rail that its node does not have");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&body);
        let _ = decode(&seal(MAGIC, VERSION, &body));
    }

    #[test]
    fn any_changed_byte_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = encode(&sample("a", 4)).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn any_changed_body_gives_a_valid_record_or_an_error(
        at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut body = encode(&sample("a", 4)).unwrap()[HEADER..].to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        if let Ok(record) = decode(&seal(MAGIC, VERSION, &body)) {
            prop_assert!(record.matrix.is_valid());
        }
    }
}
