use super::*;
use crate::topology::parse;
use proptest::prelude::*;

fn question(hosts: &[&str]) -> NetworkQuestion {
    NetworkQuestion {
        description: "/etc/slurm/topology.conf".into(),
        file: FileIdentity { size: 9, changed: (1, 2), inode: 3 },
        readers: "1.0 1".into(),
        hosts: hosts.iter().map(|host| host.to_string()).collect(),
    }
}

fn answer() -> KeptNetwork {
    let tree = parse("tree:2:2").unwrap();
    let part = NetworkPart::of(tree.as_ref(), &[0, 3]);
    KeptNetwork {
        number_of_host: vec![Some(0), None, Some(1)],
        part,
        remark: "a part is left out".into(),
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path());
    (folder, store)
}

#[test]
fn an_answer_is_found_by_its_question_only() {
    let (_folder, store) = store();
    let asked = question(&["a", "b", "c"]);
    assert_eq!(store.kept_network(&asked).unwrap(), None);
    store.keep_network(&asked, &answer()).unwrap();
    assert_eq!(store.kept_network(&asked).unwrap(), Some(answer()));
    let changed = |change: fn(&mut NetworkQuestion)| {
        let mut other = asked.clone();
        change(&mut other);
        store.kept_network(&other).unwrap()
    };
    for change in [
        (|q| q.description.push('x')) as fn(&mut NetworkQuestion),
        |q| q.file.size += 1,
        |q| q.file.changed.0 += 1,
        |q| q.file.changed.1 += 1,
        |q| q.file.inode += 1,
        |q| q.readers.push('1'),
        |q| q.hosts[0].push('a'),
        |q| drop(q.hosts.pop()),
    ] {
        assert_eq!(changed(change), None);
    }
    let questions = store.kept_network_questions().unwrap();
    assert_eq!((questions.len(), &questions[0].1), (1, &asked));
    assert_eq!(store.forget_kept_networks().unwrap(), 1);
    assert_eq!(store.kept_network(&asked).unwrap(), None);
}

#[test]
fn an_answer_for_none_of_the_hosts_is_kept_too() {
    let (_folder, store) = store();
    let (asked, none) =
        (question(&["x"]), KeptNetwork { number_of_host: vec![None], ..KeptNetwork::default() });
    store.keep_network(&asked, &none).unwrap();
    assert_eq!(store.kept_network(&asked).unwrap(), Some(none));
    for wrong in [
        KeptNetwork { number_of_host: vec![Some(0)], ..KeptNetwork::default() },
        KeptNetwork { number_of_host: vec![None, None], ..KeptNetwork::default() },
        KeptNetwork { number_of_host: vec![Some(7)], ..answer() },
        KeptNetwork { number_of_host: vec![None], ..answer() },
    ] {
        assert!(store.keep_network(&asked, &wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn files_in_place_of_answers_do_no_harm() {
    let (_folder, store) = store();
    let asked = question(&["a", "b", "c"]);
    let path = store.keep_network(&asked, &answer()).unwrap();
    let sound = fs::read(&path).unwrap();
    for at in [0, 9, 30, sound.len() - 1] {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).unwrap();
        assert!(!matches!(store.kept_network(&asked), Ok(Some(_))), "byte {at}");
    }
    // The answer to another question under this name.
    let other = seal(
        MAGIC,
        VERSION,
        &postcard::to_allocvec(&(question(&["x", "y", "z"]), answer())).unwrap(),
    );
    fs::write(&path, other).unwrap();
    assert_eq!(store.kept_network(&asked).unwrap(), None);
    fs::write(&path, seal(MAGIC, VERSION + 1, b"what a later version writes")).unwrap();
    let error = store.keep_network(&asked, &answer()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerVersion);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(store.kept_network(&asked).is_err());
    assert!(store.keep_network(&asked, &answer()).is_err());
}

#[test]
fn the_number_of_answers_is_bounded() {
    let (_folder, store) = store();
    for number in 0..MOST_KEPT + 3 {
        let asked = question(&["a", "b", &format!("c{number}")]);
        store.keep_network(&asked, &answer()).unwrap();
    }
    assert_eq!(store.kept_network_questions().unwrap().len(), MOST_KEPT);
}

proptest! {
    #[test]
    fn damaged_answers_are_errors(at in 0usize..400, change in 1u8.., cut in 0usize..400) {
        let body = postcard::to_allocvec(&(question(&["a", "b", "c"]), answer())).unwrap();
        let mut body = body[..cut.min(body.len())].to_vec();
        if let Some(byte) = body.get_mut(at) {
            *byte = byte.wrapping_add(change);
        }
        // The checksum is right: whatever is decoded is sound, or an error.
        if let Ok((question, answer)) = decode_kept_network(&seal(MAGIC, VERSION, &body)) {
            prop_assert!(answer.is_sound(question.hosts.len()));
            let _ = answer.part.and_then(|part| part.build());
        }
    }
}
