//! What a topology around another one passes on to it: the methods that are about slots, distances and structure.
//!
//! Such a topology has the other one in its field `topology`, and writes only the methods in which it differs: `name`,
//! `network` and `rails`.

macro_rules! forwarded {
    () => {
        fn slots(&self) -> usize {
            self.topology.slots()
        }

        #[inline]
        fn distance(&self, a: usize, b: usize) -> u64 {
            self.topology.distance(a, b)
        }

        fn distance_bounds(&self) -> (u64, u64) {
            self.topology.distance_bounds()
        }

        fn distances(&self, from: usize, to: &[usize], out: &mut [u64]) {
            self.topology.distances(from, to, out);
        }

        fn as_tree(&self) -> Option<&$crate::topology::Tree> {
            self.topology.as_tree()
        }

        fn as_grid(&self) -> Option<&$crate::topology::Grid> {
            self.topology.as_grid()
        }

        fn as_part_of_grid(&self) -> Option<(&$crate::topology::Grid, &[usize])> {
            self.topology.as_part_of_grid()
        }

        fn as_graph(&self) -> Option<&$crate::topology::NetworkGraph> {
            self.topology.as_graph()
        }

        fn as_dragonfly(&self) -> Option<&$crate::topology::Dragonfly> {
            self.topology.as_dragonfly()
        }

        fn node_of(&self, slot: usize) -> usize {
            self.topology.node_of(slot)
        }

        fn slot_name(&self, slot: usize) -> Option<&str> {
            self.topology.slot_name(slot)
        }

        fn left_out(&self) -> Option<&str> {
            self.topology.left_out()
        }

        fn nameless(&self) -> bool {
            self.topology.nameless()
        }
    };
}
pub(in crate::topology) use forwarded;
