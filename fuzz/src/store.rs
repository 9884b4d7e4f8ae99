//! Files of the store: records and spill files.

use rankweave::store::spill::{
    About, JobDescription, decode_parts, encode_parts, join, layout, read,
};
use rankweave::store::{
    MAGIC, VERSION, decode, decode_kept_network, decode_measured_network, encode,
};

/// A record file of any content is survived, with and without a correct header around it.
pub fn record_file(bytes: &[u8]) {
    let _ = decode(bytes);
    let mut sealed = MAGIC.to_vec();
    sealed.extend(VERSION.to_le_bytes());
    sealed.extend((bytes.len() as u64).to_le_bytes());
    sealed.extend(crc32fast::hash(bytes).to_le_bytes());
    sealed.extend(bytes);
    if let Ok(record) = decode(&sealed) {
        assert_eq!(record.inconsistency(), None);
        // Floating point numbers that equal nothing are the only records that differ from themselves.
        let again = decode(&encode(&record).expect("encodes")).expect("decodes");
        assert_eq!(again.matrix, record.matrix);
    }
}

/// A measured network of any content is survived, with and without a correct header around it.
pub fn network_file(bytes: &[u8]) {
    let _ = decode_measured_network(bytes);
    let mut sealed = b"RKNETWK\n".to_vec();
    sealed.extend(1u32.to_le_bytes());
    sealed.extend((bytes.len() as u64).to_le_bytes());
    sealed.extend(crc32fast::hash(bytes).to_le_bytes());
    sealed.extend(bytes);
    if let Ok((hosts, network)) = decode_measured_network(&sealed) {
        let levels = network.level_names.len();
        assert_eq!(network.group_of_host.len(), hosts.len());
        assert!(network.group_of_host.iter().all(|path| path.len() == levels));
        assert!(network.bandwidths.iter().chain(&network.latencies).all(|x| x.is_finite()));
    }
}

/// A kept network of any content is survived, with and without a correct header around it, and so is the network that is
/// made of it.
pub fn kept_network_file(bytes: &[u8]) {
    let _ = decode_kept_network(bytes);
    let mut sealed = b"RKFABRC\n".to_vec();
    sealed.extend(1u32.to_le_bytes());
    sealed.extend((bytes.len() as u64).to_le_bytes());
    sealed.extend(crc32fast::hash(bytes).to_le_bytes());
    sealed.extend(bytes);
    if let Ok((question, answer)) = decode_kept_network(&sealed) {
        assert_eq!(answer.number_of_host.len(), question.hosts.len());
        if let Some((network, slots)) = answer.part.and_then(|part| part.build()) {
            assert!(slots.iter().all(|&slot| slot < network.slots()));
            let ends = [slots[0], slots[slots.len() - 1]];
            assert_eq!(network.distance(ends[0], ends[1]), network.distance(ends[1], ends[0]));
        }
    }
}

/// A spill file of any content is survived, with and without a correct header in front of it.
pub fn spill_file(bytes: &[u8]) {
    let _ = read(bytes);
    let _ = decode_parts(bytes);
    let job =
        JobDescription { id: 1, tasks: 5, model: "mpich".into(), ..JobDescription::default() };
    let about = About { job, task: 2, process: 2, ..About::default() };
    let mut file = layout::header(&about.encode());
    file.resize(file.len().next_multiple_of(layout::ALIGN), 0);
    // Heads and entries get the checksum that a fuzzer does not find.
    for block in bytes.chunks(64) {
        let mut sealed = [0; 64];
        sealed[..block.len()].copy_from_slice(block);
        let number =
            |at: usize| u64::from_ne_bytes(sealed[at..at + 8].try_into().unwrap_or_default());
        let half =
            |at: usize| u32::from_ne_bytes(sealed[at..at + 4].try_into().unwrap_or_default());
        match sealed[63] % 3 {
            0 => file.extend(sealed),
            1 => {
                let head = layout::Head {
                    tag: half(0) % 4,
                    length: number(8),
                    count: number(16),
                    number: number(24),
                    shape: [half(32), half(36), half(40), half(44)],
                };
                file.extend(head.to_bytes());
            }
            _ => {
                let entry = layout::Entry {
                    communicator: number(0),
                    bytes: number(8),
                    operation: half(16),
                    root: half(20),
                    element: half(24),
                    flags: half(28),
                };
                let mut entry = entry.to_bytes();
                entry[8..16].copy_from_slice(&sealed[32..40]);
                file.extend(entry);
            }
        }
    }
    let part = read(&file).expect("the header is right");
    let parts = [part];
    let again = decode_parts(&encode_parts(&parts).expect("encodes")).expect("decodes");
    assert_eq!(again, parts);
    let joined = join(&parts, "was killed", 0).expect("one part is consistent");
    assert_eq!(joined.record.inconsistency(), None);
}
