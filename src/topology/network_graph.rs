//! Any network, given by its links: hop distances without a table of all pairs.
//!
//! Distances come from breadth-first searches. A slot with one link, which leads to a switch, is one hop
//! farther from every vertex than this switch. One row of hops for the switch therefore serves all slots of the
//! switch. Slots with the same several neighbours, as the hosts of a rack with one adapter on each of its switches,
//! share the row of the first of them: *twins* have the same distances to all other vertices, and are 2 hops apart.
//! A row is computed at its first use and kept, up to [`ROW_BYTES`] in all. After that, only a few more
//! rows are kept and replaced in turn, so that a huge network costs time instead of memory.

use super::network::{BANDWIDTHS, is_bandwidth};
use super::uplinks::with_uplinks;
use super::{Network, Topology, Tree, ultrametric};
use crate::base::compressed_rows;
use crate::base::countdown::take_one;
use crate::base::nouns::counted;
use crate::base::sorting::Arrange;
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Memory that rows of hops may take in all: those of 16 384 switches with a host each. A row that is not kept costs a
/// search for each distance, which is thousands of times slower. Usual fabrics have few switches, and need a few MiB.
pub const ROW_BYTES: usize = 1 << 30;

/// Rows that are kept when there is no room for all of them.
const SPARE_ROWS: usize = 64;

type Row = Arc<[u16]>;

/// An undirected network of slots and switches with the bandwidth of each link.
#[derive(Debug)]
pub struct NetworkGraph {
    label: String,
    pub(super) slots: usize,
    names: Vec<String>,
    /// Whether messages may pass through slots on their way.
    slots_forward: bool,
    pub(super) offsets: Vec<usize>,
    pub(super) neighbours: Vec<u32>,
    pub(super) bandwidths: Vec<f64>,
    /// The vertex whose row of hops serves a slot, and the hops from the slot to it: 1 to the switch of the slot, 0 to
    /// the slot itself or its first twin.
    pub(super) anchor: Vec<(u32, u16)>,
    rows: Vec<OnceLock<Row>>,
    rows_left: AtomicUsize,
    spare: Mutex<Vec<(usize, Row)>>,
    /// The tree with the same distances, if there is such a tree.
    tree: Option<Tree>,
    /// What of its description it does not have.
    left_out: Option<String>,
    /// Whether its description has no names of hosts.
    nameless: bool,
}

impl NetworkGraph {
    /// From undirected links `(a, b, bandwidth)`; vertices `0..slots` are the slots, the others up
    /// to `vertices` switches. Parallel links are one link with the bandwidth of all.
    ///
    /// Errors: a vertex that does not exist, a bandwidth that is not positive, slots that cannot
    /// reach each other, a vertex more than 32 766 hops away from slot 0, no slot.
    pub fn new(
        slots: usize,
        vertices: usize,
        links: &[(u32, u32, f64)],
        label: String,
    ) -> Result<NetworkGraph> {
        NetworkGraph::with_forwarding(slots, vertices, links, label, true)
    }

    /// As [`NetworkGraph::new`], where `slots_forward` says whether messages may pass through slots on
    /// their way. They do not pass through hosts with several adapters.
    pub(super) fn with_forwarding(
        slots: usize,
        vertices: usize,
        links: &[(u32, u32, f64)],
        label: String,
        slots_forward: bool,
    ) -> Result<NetworkGraph> {
        let mut graph = NetworkGraph::linked(slots, vertices, links, label, slots_forward)?;
        // Slots of one switch are a group, and so are twins. A slot may itself be the switch of others.
        let group = |&(anchor, out): &(u32, u16)| anchor + u32::from(out == 0) * vertices as u32;
        let switch: Vec<u32> = graph.anchor.iter().map(group).collect();
        let tree = ultrametric::tree_of(&graph, &switch);
        graph.tree = tree.map(|tree| with_uplinks(tree, &graph));
        Ok(graph)
    }

    /// As [`NetworkGraph::with_forwarding`], for a network that is not examined for being a tree.
    pub(super) fn linked(
        slots: usize,
        vertices: usize,
        links: &[(u32, u32, f64)],
        label: String,
        slots_forward: bool,
    ) -> Result<NetworkGraph> {
        let bad = |what: String| Err(Error::new(ErrorKind::Format, what));
        if slots == 0 || slots > vertices || u32::try_from(vertices).is_err() {
            return bad(format!(
                "a network of {} cannot have {}",
                counted(vertices, "vertex"),
                counted(slots, "slot")
            ));
        }
        let mut directed = Vec::with_capacity(2 * links.len());
        for &(a, b, bandwidth) in links {
            if a.max(b) as usize >= vertices {
                return bad(format!(
                    "the link {a}–{b} ends at a vertex that does not exist: there \
                                    are {vertices}"
                ));
            }
            if !is_bandwidth(bandwidth) {
                return bad(format!(
                    "the link {a}–{b} has the bandwidth {bandwidth}, which is not {BANDWIDTHS}"
                ));
            }
            if a != b {
                directed.push((a, b, bandwidth));
                directed.push((b, a, bandwidth));
            }
        }
        directed.arrange_by_key(|&(a, b, _)| (a, b));
        directed.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut graph = NetworkGraph {
            label,
            slots,
            names: Vec::new(),
            slots_forward,
            neighbours: directed.iter().map(|d| d.1).collect(),
            bandwidths: directed.iter().map(|d| d.2).collect(),
            anchor: Vec::new(),
            rows: (0..vertices).map(|_| OnceLock::new()).collect(),
            rows_left: AtomicUsize::new(ROW_BYTES / (2 * vertices)),
            spare: Mutex::new(Vec::new()),
            tree: None,
            left_out: None,
            nameless: false,
            offsets: compressed_rows::offsets(vertices, directed.iter().map(|d| d.0 as usize)),
        };
        let mut first_twin: HashMap<&[u32], u32> = HashMap::new();
        let anchor = (0..slots)
            .map(|slot| match graph.around(slot) {
                [only] if graph.around(*only as usize).len() > 1 => (*only, 1),
                [] => (slot as u32, 0),
                around => (*first_twin.entry(around).or_insert(slot as u32), 0),
            })
            .collect();
        graph.anchor = anchor;
        // One search from a slot finds the slots that it cannot reach.
        let hops = graph.search(0);
        if let Some(lost) = hops[..slots].iter().position(|&h| h == u32::MAX) {
            return bad(format!("slot {lost} cannot be reached from slot 0"));
        }
        // Twice the largest distance from one vertex bounds all distances.
        if hops.iter().filter(|&&h| h != u32::MAX).max().is_some_and(|&h| h > 32_766) {
            return bad("a vertex is more than 32 766 hops away from slot 0".into());
        }
        Ok(graph)
    }

    /// Sets the name of every slot.
    #[must_use]
    pub fn with_slot_names(mut self, names: Vec<String>) -> NetworkGraph {
        self.names = names;
        self
    }

    /// Sets what [`Topology::left_out`] and [`Topology::nameless`] say.
    #[must_use]
    pub(super) fn with_remarks(mut self, left_out: Option<String>, nameless: bool) -> NetworkGraph {
        (self.left_out, self.nameless) = (left_out, nameless);
        self
    }

    /// Sets the names of switches, by vertex. The tree of the network has the names of the switches to which slots are
    /// linked; those farther from the slots are no groups of a tree if there are several of them side by side.
    #[must_use]
    pub(super) fn with_switch_names(mut self, names: &HashMap<u32, String>) -> NetworkGraph {
        if let Some(tree) = self.tree.take() {
            let innermost = tree.levels().saturating_sub(2);
            let name = |level: usize, slot: usize| match self.anchor[slot] {
                (switch, 1) if level == innermost => names.get(&switch).cloned(),
                _ => None,
            };
            self.tree = Some(tree.with_switch_names(name));
        }
        self
    }

    /// Whether messages may pass through slots on their way.
    pub(super) fn slots_forward(&self) -> bool {
        self.slots_forward
    }

    /// Number of vertices: slots and switches.
    pub(super) fn size(&self) -> usize {
        self.rows.len()
    }

    /// A number that slots with the same links to others share: that of their switch or of the first twin.
    pub(super) fn anchor_of(&self, slot: usize) -> u32 {
        self.anchor[slot].0
    }

    /// Hops from a slot to every vertex; `u32::MAX` for those that it cannot reach.
    pub(super) fn hops_from(&self, slot: usize) -> Vec<u32> {
        self.search(slot)
    }

    /// Each link once, with its bandwidth.
    pub(super) fn undirected_links(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..self.size()).flat_map(move |vertex| {
            let from = self.offsets[vertex];
            let links = self.around(vertex).iter().zip(&self.bandwidths[from..]);
            let links = links.map(move |(&other, &bandwidth)| (vertex as u32, other, bandwidth));
            links.filter(|&(a, b, _)| a < b)
        })
    }

    pub(super) fn around(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.offsets[vertex]..self.offsets[vertex + 1]]
    }

    /// Hops of every vertex from `source`; `u16::MAX` where they do not fit into 16 bits.
    fn compute(&self, source: usize) -> Row {
        self.search(source).into_iter().map(|h| u16::try_from(h).unwrap_or(u16::MAX)).collect()
    }

    /// The hops of every vertex from `source`; `u32::MAX` where there is no way.
    fn search(&self, source: usize) -> Vec<u32> {
        let mut row = vec![u32::MAX; self.rows.len()];
        let mut queue = Vec::with_capacity(self.rows.len());
        row[source] = 0;
        queue.push(source);
        let mut head = 0;
        while let Some(&vertex) = queue.get(head) {
            head += 1;
            let next = row[vertex] + 1;
            let around = match self.slots_forward || vertex == source {
                true => self.around(vertex),
                false => self.switches_around(vertex),
            };
            for other in around.iter().map(|&other| other as usize) {
                if row[other] == u32::MAX {
                    row[other] = next;
                    if self.slots_forward || other >= self.slots {
                        queue.push(other);
                    }
                }
            }
        }
        if !self.slots_forward {
            self.add_slots(&mut row, source);
        }
        row
    }

    /// The switches around a vertex. They have larger numbers than all slots.
    fn switches_around(&self, vertex: usize) -> &[u32] {
        let around = self.around(vertex);
        &around[around.partition_point(|&other| (other as usize) < self.slots)..]
    }

    /// Adds the hops of the slots to a row that has those of the switches, where no message passes through a slot. A
    /// slot is one hop farther than the nearest of its switches, and as far as its first twin. Looking at all slots of
    /// all switches instead would take most of the time that it takes to read the file of a large fabric.
    fn add_slots(&self, row: &mut [u32], source: usize) {
        for slot in 0..self.slots {
            if row[slot] != u32::MAX {
                continue;
            }
            let twin = self.anchor.get(slot).filter(|anchor| anchor.1 == 0).map(|a| a.0 as usize);
            row[slot] = match twin {
                Some(first) if first < slot && first != source => row[first],
                _ => {
                    let switches = self.switches_around(slot).iter();
                    let nearest = switches.map(|&switch| row[switch as usize]).min();
                    nearest.map_or(u32::MAX, |hops| hops.saturating_add(1))
                }
            };
        }
    }

    /// Calls `read` with the hops from `source` to every vertex.
    pub(super) fn with_row<T>(&self, source: usize, read: impl Fn(&[u16]) -> T) -> T {
        if let Some(row) = self.rows[source].get() {
            return read(row);
        }
        if take_one(&self.rows_left).is_some() {
            return read(self.rows[source].get_or_init(|| self.compute(source)));
        }
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, row)) = spare.iter().find(|(kept, _)| *kept == source) {
            return read(row);
        }
        let row = self.compute(source);
        if spare.len() == SPARE_ROWS {
            spare.remove(0);
        }
        spare.push((source, row.clone()));
        drop(spare);
        read(&row)
    }
}

impl Topology for NetworkGraph {
    fn name(&self) -> String {
        self.label.clone()
    }

    fn slots(&self) -> usize {
        self.slots
    }

    #[inline]
    fn distance(&self, a: usize, b: usize) -> u64 {
        if let Some(tree) = &self.tree {
            return tree.distance(a, b);
        }
        if a == b {
            return 0;
        }
        let ((x, out), (y, into)) = (self.anchor[a], self.anchor[b]);
        // Hops are symmetric. The row of the lower number is used, which halves the number of rows.
        let (x, y) = (x.min(y), x.max(y));
        let between = match x == y {
            // Twins are two hops apart, as slots of one switch are.
            true if out + into == 0 => 2,
            true => 0,
            false => self.with_row(x as usize, |row| row[y as usize]),
        };
        u64::from(out) + u64::from(between) + u64::from(into)
    }

    /// The smallest number tells whether slots are linked, share a switch, or are on different switches.
    fn distance_bounds(&self) -> (u64, u64) {
        let slots_around =
            |vertex: usize| self.around(vertex).len() - self.switches_around(vertex).len();
        let linked = (0..self.slots).any(|slot| slots_around(slot) > 0);
        let shared = || (self.slots..self.size()).any(|switch| slots_around(switch) > 1);
        (
            if linked {
                1
            } else if shared() {
                2
            } else {
                3
            },
            u64::MAX,
        )
    }

    fn as_tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    fn as_graph(&self) -> Option<&NetworkGraph> {
        Some(self)
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    fn nameless(&self) -> bool {
        self.nameless
    }

    fn slot_name(&self, slot: usize) -> Option<&str> {
        self.names.get(slot).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// Two switches (4, 5) with two slots each and a doubled link between them.
    fn pair() -> NetworkGraph {
        let links = [(0, 4, 1.0), (1, 4, 1.0), (2, 5, 1.0), (3, 5, 1.0), (4, 5, 2.0), (5, 4, 2.0)];
        NetworkGraph::new(4, 6, &links, "pair".into()).unwrap()
    }

    #[test]
    fn slots_share_the_row_of_their_switch() {
        let net = pair();
        assert_eq!((net.distance(0, 1), net.distance(0, 2), net.distance(3, 3)), (2, 3, 0));
        assert!(net.rows.iter().filter(|r| r.get().is_some()).count() <= 1);
    }

    #[test]
    fn parallel_links_add_up() {
        let net = pair();
        let mut seen = Vec::new();
        net.route(0, 3, &mut |link| seen.push(net.bandwidth(link)));
        assert_eq!(seen, [1.0, 4.0, 1.0]);
    }

    #[test]
    fn spare_rows_answer_the_same() {
        let links: Vec<(u32, u32, f64)> = (0..99).map(|v| (v, v + 1, 1.0)).collect();
        let line = NetworkGraph::new(100, 100, &links, String::new()).unwrap();
        let kept = || line.rows.iter().filter(|r| r.get().is_some()).count();
        let before = kept();
        line.rows_left.store(3, Ordering::Relaxed);
        for a in 0..100 {
            for b in 0..100 {
                assert_eq!(line.distance(a, b), a.abs_diff(b) as u64);
            }
        }
        assert_eq!(kept(), before + 3);
        assert!(line.spare.lock().unwrap().len() <= SPARE_ROWS);
    }

    #[test]
    fn twins_share_a_row() {
        // Slots 0 to 2 are on the switches 4 and 5, slot 3 is on 5 and 6.
        let links = [(0, 4), (0, 5), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5), (3, 6), (4, 6)];
        let links: Vec<(u32, u32, f64)> = links.iter().map(|&(a, b)| (a, b, 1.0)).collect();
        for forward in [false, true] {
            let net = NetworkGraph::with_forwarding(4, 7, &links, String::new(), forward).unwrap();
            assert_eq!(net.anchor[1], (0, 0));
            for a in 0..4 {
                for b in 0..4 {
                    let want = if a == b { 0 } else { 2 };
                    assert_eq!(net.distance(a, b), want, "{a} {b}");
                    let mut hops = 0;
                    net.route(a, b, &mut |_| hops += 1);
                    assert_eq!(hops, want, "{a} {b}");
                }
            }
        }
    }

    proptest::proptest! {
        /// Slots that do not forward: compared with a search over all pairs of neighbours, round by round.
        #[test]
        fn rows_have_the_hops_of_a_plain_search(
            pairs in proptest::collection::vec((0u32..12, 0u32..12), 1..40),
        ) {
            // The first seven vertices are slots, all of them on switch 7, so that the network is connected.
            let always = (0..7u32).map(|slot| (slot, 7));
            let links: Vec<(u32, u32, f64)> =
                pairs.into_iter().chain(always).map(|(a, b)| (a, b, 1.0)).collect();
            let net = NetworkGraph::with_forwarding(7, 12, &links, String::new(), false).unwrap();
            for source in 0..12 {
                let mut want = vec![u32::MAX; 12];
                want[source] = 0;
                for _ in 0..12 {
                    for &(a, b, _) in &links {
                        for (a, b) in [(a as usize, b as usize), (b as usize, a as usize)] {
                            if want[a] != u32::MAX && (a >= 7 || a == source) {
                                want[b] = want[b].min(want[a] + 1);
                            }
                        }
                    }
                }
                proptest::prop_assert_eq!(net.search(source), want);
            }
        }
    }

    #[test]
    fn two_slots_on_one_link() {
        let net = NetworkGraph::new(2, 2, &[(0, 1, 1.0)], String::new()).unwrap();
        assert_eq!(net.distance(0, 1), 1);
    }

    #[test]
    fn broken_networks_are_refused() {
        let new = |slots, vertices, links: &[(u32, u32, f64)]| {
            NetworkGraph::new(slots, vertices, links, String::new()).unwrap_err().to_string()
        };
        assert!(new(0, 0, &[]).contains("0 slots"));
        assert!(new(3, 3, &[(0, 1, 1.0)]).contains("slot 2 cannot be reached"));
        assert!(new(2, 2, &[(0, 5, 1.0)]).contains("ends at a vertex"));
        assert!(new(2, 2, &[(0, 1, 0.0)]).contains("bandwidth"));
    }
}
