//! Tables of objects that threads read without a lock.

use loom::thread;
use rankweave_models::record::communicator::Communicator;
use rankweave_models::record::digest::{Digests, IN_LINE};
use rankweave_models::record::registry::{MULTIPLIER, Node, Registry};
use rankweave_models::record::slot::Slot;
use rankweave_models::record::window::Window;
use rankweave_models::record::windows::Windows;
use rankweave_models::sys::sync::{Arc, AtomicBool, AtomicPtr, AtomicU64};
use std::sync::atomic::Ordering;

mod support;
use support::check;

/// A table whose objects are all in chains.
type Numbers = Registry<AtomicU64, true>;
/// A table with homes.
type Homes = Registry<AtomicU64>;

/// Handles whose chains are the same as long as there are at most `chains` of them, and one of another chain.
fn handles(chains: u64) -> (u64, u64, u64) {
    spread(|bits| bits & (chains - 1))
}

/// Handles that have the same home and the same chain, and one of another home.
fn neighbours() -> (u64, u64, u64) {
    spread(|bits| (bits.wrapping_mul(MULTIPLIER) >> 32) & 1)
}

fn spread(chain: impl Fn(u64) -> u64) -> (u64, u64, u64) {
    let meets = |of: u64| (of + 1..).find(|&bits| chain(bits) == chain(of)).unwrap();
    let differs = (2..).find(|&bits| chain(bits) != chain(1)).unwrap();
    (1, meets(1), differs)
}

fn put<const NEAR: bool>(
    table: &Registry<AtomicU64, NEAR>,
    bits: u64,
) -> &'static Node<AtomicU64> {
    table.insert(bits, |value| value.store(10 * bits, Ordering::Relaxed)).unwrap()
}

fn value(node: &Node<AtomicU64>) -> u64 {
    node.value.load(Ordering::Relaxed)
}

/// A reader stands on a node that one thread takes out and another one uses again in another chain, while it looks
/// for what is behind.
#[test]
fn what_is_there_is_found_while_the_node_before_it_is_used_again() {
    check("reuse", || {
        let (behind, before, other) = handles(4);
        let table = Arc::new(Numbers::new());
        put(&table, behind);
        put(&table, before);
        let changing = table.clone();
        let thread = thread::spawn(move || {
            changing.remove(before, |_| Some(())).unwrap();
            thread::spawn(move || {
                put(&changing, other);
            })
            .join()
            .unwrap();
        });
        let found = table.find(behind).expect("it is there");
        assert_eq!(value(found), 10 * behind);
        thread.join().unwrap();
    });
}

/// The array of chains doubles while a reader looks.
#[test]
fn what_is_there_is_found_while_the_table_grows() {
    check("growth", || {
        let (first, second, third) = handles(2);
        let table = Arc::new(Numbers::new());
        put(&table, first);
        let growing = table.clone();
        let thread = thread::spawn(move || {
            put(&growing, second);
            put(&growing, third);
        });
        let found = table.find(first).expect("it is there");
        assert_eq!(value(found), 10 * first);
        for bits in [second, third] {
            if let Some(found) = table.get(bits) {
                assert_eq!(value(found), 10 * bits, "described before it can be found");
            }
        }
        thread.join().unwrap();
    });
}

/// All objects are removed, at the end of recording, while a reader follows a chain.
#[test]
fn a_reader_meets_no_other_object_while_the_table_is_cleared() {
    check("clear", || {
        let (first, second, third) = handles(4);
        let table = Arc::new(Numbers::new());
        put(&table, first);
        put(&table, second);
        let clearing = table.clone();
        let thread = thread::spawn(move || {
            clearing.clear(|_| ());
            put(&clearing, third);
        });
        if let Some(found) = table.find(third) {
            assert_eq!(value(found), 10 * third);
        }
        thread.join().unwrap();
        assert!(table.find(first).is_none() && table.find(third).is_some());
    });
}

/// A thread that keeps the address of a node sees by its key that it is the place of another object now, and then
/// all that was said of that one.
#[test]
fn a_node_at_hand_tells_what_it_is() {
    check("at hand", || {
        let (old, new, _) = handles(4);
        let table = Arc::new(Numbers::new());
        let kept = put(&table, old);
        let changing = table.clone();
        let thread = thread::spawn(move || {
            changing.remove(old, |_| Some(())).unwrap();
            put(&changing, new);
        });
        if kept.is(new) {
            assert_eq!(value(kept), 10 * new, "described before it has its key");
        }
        thread.join().unwrap();
        assert!(!kept.is(old));
    });
}

/// A thread that keeps the address of a node sees by its key that the object is gone, also if no other object has
/// taken the place.
#[test]
fn a_node_at_hand_tells_that_its_object_is_gone() {
    check("gone", || {
        let (old, ..) = handles(4);
        let table = Arc::new(Numbers::new());
        let kept = put(&table, old);
        let changing = table.clone();
        let thread = thread::spawn(move || changing.remove(old, |_| Some(())));
        thread.join().unwrap().unwrap();
        assert!(!kept.is(old));
    });
}

/// The home of an object becomes that of another object, while readers look for both and for one in the chain.
#[test]
fn a_home_is_used_again() {
    check("home", || {
        let (old, new, _) = neighbours();
        let behind = (new + 1..).find(|&bits| (bits.wrapping_mul(MULTIPLIER) >> 32) % 2 == 0);
        let behind = behind.unwrap();
        let table = Arc::new(Homes::new());
        let kept = put(&table, old);
        put(&table, behind);
        let changing = table.clone();
        let thread = thread::spawn(move || {
            changing.remove(old, |_| Some(())).unwrap();
            put(&changing, new);
        });
        if kept.is(new) {
            assert_eq!(value(kept), 10 * new, "described before it has its key");
        }
        if let Some(found) = table.find(new) {
            assert_eq!(value(found), 10 * new, "described before it can be found");
        }
        assert_eq!(value(table.find(behind).expect("it is there")), 10 * behind);
        thread.join().unwrap();
        assert!(!kept.is(old) && table.find(old).is_none() && table.find(new).is_some());
    });
}

/// Looks for a digest as the fast path of a send does: its key, and then its word.
fn digest(table: &Homes, bits: u64) -> Option<u64> {
    let line = unsafe { std::slice::from_raw_parts(table.digests.places.load(Ordering::Acquire), IN_LINE) };
    let its = line.iter().find(|place| place.key.load(Ordering::Acquire) == bits);
    its.map(|place| place.word.load(Ordering::Relaxed))
}

fn give_digest(table: &Homes, bits: u64) {
    table.digest(bits, |value| Some(value.load(Ordering::Relaxed)));
}

/// The place of a digest, and the home, become those of another object, while one thread looks for the digest of the
/// other object, and gives the first one a digest late.
#[test]
fn a_digest_is_used_again() {
    check("digest", || {
        let (old, new, _) = neighbours();
        let table = Arc::new(Homes::new());
        put(&table, old);
        give_digest(&table, old);
        assert_eq!(digest(&table, old), Some(10 * old));
        let changing = table.clone();
        let thread = thread::spawn(move || {
            changing.remove(old, |_| Some(())).unwrap();
            put(&changing, new);
            give_digest(&changing, new);
        });
        if let Some(word) = digest(&table, new) {
            assert_eq!(word, 10 * new, "described before it can be found");
        }
        give_digest(&table, old);
        thread.join().unwrap();
        assert_eq!((digest(&table, old), digest(&table, new)), (None, Some(10 * new)));
        table.clear(|_| ());
        assert_eq!(digest(&table, new), None);
    });
}

/// Two threads use an object again, and one of them another object.
#[test]
fn one_of_two_threads_gives_a_digest() {
    check("both digest", || {
        let (first, _, second) = neighbours();
        let table = Arc::new(Homes::new());
        put(&table, first);
        put(&table, second);
        let other = table.clone();
        let thread = thread::spawn(move || give_digest(&other, first));
        give_digest(&table, first);
        give_digest(&table, second);
        thread.join().unwrap();
        for bits in [first, second] {
            assert_eq!(digest(&table, bits), Some(10 * bits));
            table.remove(bits, |_| Some(())).unwrap();
            assert_eq!(digest(&table, bits), None);
        }
    });
}

/// Objects whose digests have the same first place: each takes a free one, and the last finds none.
#[test]
fn a_digest_takes_a_free_place() {
    check("free digest", || {
        let digests = Digests::new();
        digests.make();
        for bits in 1..=IN_LINE as u64 + 1 {
            digests.add(0, bits, 10 * bits);
        }
        let mut known: Vec<u64> =
            digests.all().iter().map(|place| place.key.load(Ordering::Acquire)).collect();
        known.sort_unstable();
        assert_eq!(known, (1..=IN_LINE as u64).collect::<Vec<_>>());
    });
}

/// The first object of a table comes while a reader looks.
#[test]
fn the_homes_are_made_while_a_reader_looks() {
    check("homes", || {
        let (first, second, _) = neighbours();
        let table = Arc::new(Homes::new());
        let adding = table.clone();
        let thread = thread::spawn(move || {
            put(&adding, first);
            put(&adding, second);
        });
        for bits in [first, second] {
            if let Some(found) = table.find(bits) {
                assert_eq!(value(found), 10 * bits, "described before it can be found");
            }
        }
        thread.join().unwrap();
        let mut all = 0;
        table.for_each(|number| all += number.load(Ordering::Relaxed));
        assert_eq!(all, 10 * (first + second));
        table.clear(|_| ());
        assert!(table.find(first).is_none() && table.find(second).is_none());
    });
}

/// Two threads add the same object.
#[test]
fn one_of_two_threads_adds_an_object() {
    check("both add", || {
        let table = Arc::new(Numbers::new());
        let add = |table: &Numbers| table.insert(7, |value| value.store(70, Ordering::Relaxed));
        let other = table.clone();
        let thread = thread::spawn(move || match add(&other) {
            Ok(node) => (true, node),
            Err(node) => (false, node),
        });
        let mine = match add(&table) {
            Ok(node) => (true, node),
            Err(node) => (false, node),
        };
        let theirs = thread.join().unwrap();
        assert!(mine.0 != theirs.0 && std::ptr::eq(mine.1, theirs.1));
        assert_eq!((value(mine.1), value(theirs.1)), (70, 70));
    });
}

/// MPI gives the handle of a communicator that one thread frees to another thread, before the call that frees the
/// first has returned; its delete callback comes late. A third thread uses the second communicator.
#[test]
fn a_handle_is_used_again_while_its_free_has_not_returned() {
    check("handle", || {
        let table = Arc::new(Registry::<Slot>::new());
        let node = table.enter(9, Communicator::new(1, 3), || true).unwrap();
        let at_hand = AtomicPtr::new(std::ptr::from_ref(node).cast_mut());
        let free = Arc::new(AtomicBool::new(false));
        let (freeing, given) = (table.clone(), free.clone());
        let thread = thread::spawn(move || {
            drop(freeing.leave(9, None));
            given.store(true, Ordering::Release);
            drop(freeing.leave(9, Some(1)));
        });
        let entered = free.load(Ordering::Acquire);
        if entered {
            let last = unsafe { at_hand.load(Ordering::Relaxed).as_ref() }.unwrap();
            assert!(!last.is(9), "what is at hand is another communicator");
            assert!(table.find(9).is_none());
            table.enter(9, Communicator::new(2, 5), || true).unwrap();
        }
        thread.join().unwrap();
        if entered {
            let node = table.find(9).expect("only the first one is gone");
            let (tasks, size) = (&node.value.tasks, &node.value.size);
            assert_eq!(size.load(Ordering::Relaxed), 1);
            let task = unsafe { &*tasks.load(Ordering::Relaxed) };
            assert_eq!(task.load(Ordering::Relaxed), 5);
            let entry = unsafe { &*node.value.entry.load(Ordering::Relaxed) };
            assert_eq!((entry.number, entry.effective()), (2, 102));
        }
        table.clear(|slot| drop(slot.empty()));
    });
}

/// Two threads meet a communicator at the same time: MPI is told once.
#[test]
fn two_threads_meet_a_communicator() {
    check("communicator", || {
        let table = Arc::new(Registry::<Slot>::new());
        let told = Arc::new(AtomicU64::new(0));
        let meet = |table: &Registry<Slot>, told: &AtomicU64, number| {
            let tell = || told.fetch_add(1, Ordering::Relaxed) == 0;
            let node = table.enter(9, Communicator::new(number, 3), tell).unwrap();
            let entry = unsafe { &*node.value.entry.load(Ordering::Relaxed) };
            assert_eq!(entry.effective(), 100 + node.value.number.load(Ordering::Relaxed));
        };
        let (also, telling) = (table.clone(), told.clone());
        let thread = thread::spawn(move || meet(&also, &telling, 2));
        meet(&table, &told, 1);
        thread.join().unwrap();
        assert_eq!(told.load(Ordering::Relaxed), 1);
        drop(table.leave(9, None).unwrap());
    });
}

/// Two threads need the entry of a small communicator at the same time; then it is freed.
#[test]
fn two_threads_complete_a_communicator() {
    check("complete", || {
        let table = Arc::new(Registry::<Slot>::new());
        let node = table.enter_as(9, |slot| slot.fill_few(1, 101, &[3]), || true).unwrap();
        let completes = |table: &Registry<Slot>, node: &Node<Slot>| {
            let known = std::ptr::NonNull::new(node.value.entry.load(Ordering::Acquire));
            let entry = known.or_else(|| table.complete(9, Communicator::new(1, 3))).unwrap();
            assert_eq!(unsafe { entry.as_ref() }.effective(), 101);
            entry.as_ptr() as usize
        };
        let other = table.clone();
        let thread = thread::spawn(move || completes(&other, node));
        let mine = completes(&table, node);
        assert_eq!(mine, thread.join().unwrap(), "there is one entry");
        assert_eq!(node.value.size.load(Ordering::Relaxed), 1);
        let task = unsafe { &*node.value.tasks.load(Ordering::Relaxed) };
        assert_eq!(task.load(Ordering::Relaxed), 3);
        drop(table.leave(9, None).unwrap());
        assert!(table.find(9).is_none());
        table.enter_as(9, |slot| slot.fill_few(2, 102, &[3]), || true).unwrap();
        assert!(table.leave(9, Some(2)).is_none() && table.find(9).is_none());
    });
}

/// A thread looks at all communicators while another one is freed.
#[test]
fn communicators_are_looked_at_while_one_is_freed() {
    check("look", || {
        let table = Arc::new(Registry::<Slot>::new());
        table.enter(9, Communicator::new(1, 3), || true).unwrap();
        let freeing = table.clone();
        let thread = thread::spawn(move || drop(freeing.leave(9, None)));
        let mut kept = Vec::new();
        table.for_each(|slot| kept.extend(slot.shared()));
        assert!(kept.iter().all(|entry| entry.effective() == 101));
        drop(kept);
        let one = table.look(9, Slot::shared);
        assert!(one.is_none_or(|entry| entry.effective() == 101));
        thread.join().unwrap();
    });
}

/// Two threads meet a window at the same time and use it; then it is freed and its handle is used again.
#[test]
fn two_threads_meet_a_window() {
    check("window", || {
        let table = Arc::new(Windows::new());
        let told = Arc::new(AtomicU64::new(0));
        let uses = |table: &Windows, told: &AtomicU64, number| {
            let last = AtomicPtr::new(std::ptr::null_mut());
            let place = match table.known(&last, 5) {
                Some(place) => place,
                None => {
                    // Telling MPI again would drop the entry.
                    let tell = || {
                        if told.fetch_add(1, Ordering::Relaxed) > 0 {
                            drop(table.take(5));
                        }
                        true
                    };
                    table.add(5, Box::new(Window::new(number)), tell).unwrap()
                }
            };
            let window = unsafe { &*place.value.load(Ordering::Relaxed) };
            assert!(window.number() == 1 || window.number() == 2);
            place
        };
        let (also, telling) = (table.clone(), told.clone());
        let thread = thread::spawn(move || {
            uses(&also, &telling, 2);
        });
        let place = uses(&table, &told, 1);
        thread.join().unwrap();
        assert_eq!(told.load(Ordering::Relaxed), 1);
        drop(table.take(5).unwrap());
        assert!(table.known(&AtomicPtr::new(std::ptr::from_ref(place).cast_mut()), 5).is_none());
    });
}
