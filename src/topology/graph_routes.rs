//! The links and routes of a network that is given by its links.
//!
//! All routes are shortest paths. The static route is one of them. [`NetworkGraph::spread`] goes over all of them.

use super::{Network, NetworkGraph, Routing, SinglePath};

impl Network for NetworkGraph {
    fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    fn links(&self) -> usize {
        self.neighbours.len()
    }

    fn bandwidth(&self, link: usize) -> f64 {
        self.bandwidths[link]
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        for (k, &other) in self.around(vertex).iter().enumerate() {
            visit(other as usize, self.offsets[vertex] + k);
        }
    }

    /// A shortest path. If several next vertices are possible, the number of the destination selects one. The
    /// forwarding tables of fat trees spread the destinations over the uplinks in this way.
    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        let way = self.towards(to, |nearer| {
            let (mut at, mut way) = (from, Vec::new());
            while at != to {
                let around = self.around(at);
                let is_nearer = |k: &usize| nearer(at, around[*k] as usize);
                let choices = (0..around.len()).filter(is_nearer).count().max(1);
                let Some(k) = (0..around.len()).filter(is_nearer).nth(to % choices) else { break };
                way.push(self.offsets[at] + k);
                at = around[k] as usize;
            }
            way
        });
        way.into_iter().for_each(visit);
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        Box::new(SinglePath(self))
    }
}

impl NetworkGraph {
    /// Visits the links of all shortest paths. At each vertex the bytes are divided equally among the next vertices.
    pub(super) fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        let shares = self.towards(to, |nearer| {
            // All vertices of a front are equally far from the destination.
            let (mut front, mut shares) = (vec![(from, 1.0)], Vec::new());
            while front.iter().any(|&(at, _)| at != to) {
                let mut next: Vec<(usize, f64)> = Vec::new();
                for &(at, share) in &front {
                    let around = self.around(at);
                    let choices = around.iter().filter(|&&v| nearer(at, v as usize)).count();
                    for (k, &v) in around.iter().enumerate() {
                        if nearer(at, v as usize) {
                            let part: f64 = share / choices as f64;
                            shares.push((self.offsets[at] + k, part));
                            next.push((v as usize, part));
                        }
                    }
                }
                next.sort_by_key(|&(vertex, _)| vertex);
                next.dedup_by(|again, kept| {
                    let same = again.0 == kept.0;
                    kept.1 += if same { again.1 } else { 0.0 };
                    same
                });
                front = next;
            }
            shares
        });
        shares.into_iter().for_each(|(link, share)| visit(link, share));
    }

    /// Calls `read` with the question whether the second of two neighbours is one hop nearer to slot `to` than the first,
    /// and may take messages for it.
    fn towards<T>(&self, to: usize, read: impl Fn(&dyn Fn(usize, usize) -> bool) -> T) -> T {
        let (anchor, above) = self.anchor[to];
        self.with_row(anchor as usize, |row| {
            let hops = |v: usize| match () {
                () if v == to => 0,
                // The row is that of a twin of the destination.
                () if above == 0 && v == anchor as usize => 2,
                () => u32::from(row[v]) + u32::from(above),
            };
            read(&|at, other| {
                hops(other) + 1 == hops(at)
                    && (self.slots_forward() || other == to || other >= self.slots)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_paths_share_equally() {
        // Slots 0 and 1 on the switches 2 and 5, and between these the switches 3 and 4.
        let links = [(0, 2), (1, 5), (2, 3), (2, 4), (3, 5), (4, 5)];
        let links: Vec<(u32, u32, f64)> = links.iter().map(|&(a, b)| (a, b, 1.0)).collect();
        let net = NetworkGraph::new(2, 6, &links, String::new()).unwrap();
        let mut shares = Vec::new();
        net.spread(0, 1, &mut |_, share| shares.push(share));
        assert_eq!(shares, [1.0, 0.5, 0.5, 0.5, 0.5, 1.0]);
        net.spread(1, 1, &mut |_, _| panic!());
    }
}
