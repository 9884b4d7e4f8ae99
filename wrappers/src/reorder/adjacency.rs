//! The edges of a vertex of a distributed graph. They are read from the program's arrays, moved with
//! the vertex to another process, and passed to MPI in the form in which the program gave them.

use crate::comm::encoding;
use crate::comm::exchange;
use crate::comm::private::PrivateComm;
use crate::mpi::abi::Abi;
use libc::c_int;
use serde::{Deserialize, Serialize};

/// How the weights of some edges are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// MPI_UNWEIGHTED.
    Unweighted,
    /// MPI_WEIGHTS_EMPTY.
    Empty,
    /// A null pointer, where there are no edges.
    Null,
    Numbers,
}

/// Addresses that stand for a form of weights, in the language of the call.
#[derive(Debug, Clone, Copy)]
pub struct Sentinels {
    pub unweighted: [usize; 7],
    pub empty: [usize; 7],
}

impl Sentinels {
    /// The addresses in C; `None` if those of the MPI library are not known.
    pub fn of_c<A: Abi>() -> Option<Self> {
        let known = Sentinels {
            unweighted: [A::unweighted(), 0, 0, 0, 0, 0, 0],
            empty: [A::weights_empty(), 0, 0, 0, 0, 0, 0],
        };
        known.are_known().then_some(known)
    }

    /// True if at least one address is known for each of the two forms.
    pub fn are_known(&self) -> bool {
        [self.unweighted, self.empty].iter().all(|list| list.iter().any(|&a| a != 0))
    }

    /// The form of the weights of `edges` edges that lie at this address. `None` if MPI does not allow this
    /// form for this number of edges.
    fn form(&self, weights: *const c_int, edges: usize) -> Option<Form> {
        let address = weights as usize;
        match address {
            0 => (edges == 0).then_some(Form::Null),
            _ if self.unweighted.contains(&address) => Some(Form::Unweighted),
            _ if self.empty.contains(&address) => (edges == 0).then_some(Form::Empty),
            _ => Some(Form::Numbers),
        }
    }
}

impl Form {
    /// The claim that the graph is weighted, a bit.
    pub const WEIGHTED: u64 = 1;
    /// The claim that the graph is unweighted, a bit.
    pub const UNWEIGHTED: u64 = 2;

    /// The claim about the graph: [`Self::WEIGHTED`], [`Self::UNWEIGHTED`], or 0 for none.
    pub fn claim(self) -> u64 {
        match self {
            Form::Numbers | Form::Empty => Self::WEIGHTED,
            Form::Unweighted => Self::UNWEIGHTED,
            Form::Null => 0,
        }
    }
}

/// The edges of a vertex in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    pub ranks: Vec<c_int>,
    /// One weight for each rank if `form` is [`Form::Numbers`], and empty otherwise.
    pub weights: Vec<c_int>,
    pub form: Form,
}

/// Copies an array of the program. `None` if the pointer is null although the array should have elements.
///
/// # Safety
/// `array` is null or has `count` elements.
pub unsafe fn copied(array: *const c_int, count: usize) -> Option<Vec<c_int>> {
    if count == 0 {
        return Some(Vec::new());
    }
    // SAFETY: not null, and then the caller says that the array has `count` elements.
    (!array.is_null()).then(|| unsafe { std::slice::from_raw_parts(array, count) }.to_vec())
}

fn in_range(ranks: &[c_int], size: usize) -> bool {
    ranks.iter().all(|&r| usize::try_from(r).is_ok_and(|r| r < size))
}

impl Side {
    /// Reads the program's arrays. `None` if an argument is wrong. The library then leaves the call to MPI,
    /// which reports the error.
    ///
    /// # Safety
    /// The pointers are null, sentinels, or arrays of `degree` elements.
    pub unsafe fn read(
        degree: c_int,
        ranks: *const c_int,
        weights: *const c_int,
        sentinels: &Sentinels,
        size: usize,
    ) -> Option<Side> {
        let degree = usize::try_from(degree).ok()?;
        let form = sentinels.form(weights, degree)?;
        // SAFETY: the caller passes arrays of `degree` elements; `weights` is one unless it was found to
        // be a sentinel or null.
        let (ranks, weights) = unsafe {
            let weights = if form == Form::Numbers { copied(weights, degree)? } else { Vec::new() };
            (copied(ranks, degree)?, weights)
        };
        (in_range(&ranks, size) && weights.iter().all(|&w| w >= 0)).then_some(Side {
            ranks,
            weights,
            form,
        })
    }

    fn from_edges(edges: Vec<(c_int, c_int)>, weighted: bool) -> Side {
        let form = match (weighted, edges.is_empty()) {
            (false, _) => Form::Unweighted,
            (true, true) => Form::Empty,
            (true, false) => Form::Numbers,
        };
        let (ranks, weights): (Vec<c_int>, Vec<c_int>) = edges.into_iter().unzip();
        Side { ranks, weights: if weighted { weights } else { Vec::new() }, form }
    }

    /// The edges with a weight each.
    pub fn edges(&self) -> Vec<(u32, u64)> {
        let weight = |i| if self.form == Form::Numbers { self.weights.get(i) } else { Some(&1) };
        let edges = self.ranks.iter().enumerate();
        edges.map(|(i, &r)| (r as u32, weight(i).map_or(1, |&w| w.max(0) as u64))).collect()
    }

    /// Degree, ranks and weights as MPI takes them in C. The arrays live as long as `self`.
    pub fn arguments<A: Abi>(&self) -> (c_int, *const c_int, *const c_int) {
        let array = |v: &Vec<c_int>| if v.is_empty() { NOTHING.as_ptr() } else { v.as_ptr() };
        let weights = match self.form {
            Form::Unweighted => A::unweighted() as *const c_int,
            Form::Empty => A::weights_empty() as *const c_int,
            Form::Null => std::ptr::null(),
            Form::Numbers => array(&self.weights),
        };
        (self.ranks.len() as c_int, array(&self.ranks), weights)
    }
}

/// A valid address for an array without elements.
static NOTHING: [c_int; 1] = [0];

/// All edges of a vertex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjacency {
    pub sources: Side,
    pub destinations: Side,
}

impl Adjacency {
    /// The claim about the graph, as [`Form::claim`].
    pub fn claim(&self) -> u64 {
        self.sources.form.claim() | self.destinations.form.claim()
    }

    /// Sends these edges to the process that takes over the vertex, and receives the edges of the vertex
    /// that this process takes over.
    pub fn moved<A: Abi>(&self, private: &PrivateComm<A>, order: &[u32]) -> Option<Adjacency> {
        let mine = private.rank as u32;
        let to = *order.get(private.rank)?;
        let from = order.iter().position(|&p| p == mine)? as u32;
        let data = encoding::encode(self).unwrap_or_default();
        encoding::decode(&exchange::send_receive(private, to, &data, from)?)
    }
}

/// Edges that one process gives to MPI_Dist_graph_create. They need not be edges of its own vertex.
#[derive(Debug, Clone)]
pub struct Given {
    /// Each edge is `(source, destination, weight)`. The weight is 1 if the program gave no weights.
    edges: Vec<(c_int, c_int, c_int)>,
    pub form: Form,
}

impl Given {
    /// The claim about the graph, as [`Form::claim`]. A null pointer is not MPI_UNWEIGHTED: MPI takes the
    /// graph for weighted.
    pub fn claim(&self) -> u64 {
        if self.form == Form::Null { Form::Empty.claim() } else { self.form.claim() }
    }

    /// Reads the arguments of MPI_Dist_graph_create. `None` if one of them is wrong.
    ///
    /// # Safety
    /// The pointers are null, sentinels, or arrays as that function takes them.
    // The parameters are arguments of that function.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn read(
        count: c_int,
        sources: *const c_int,
        degrees: *const c_int,
        destinations: *const c_int,
        weights: *const c_int,
        sentinels: &Sentinels,
        size: usize,
    ) -> Option<Given> {
        let count = usize::try_from(count).ok()?;
        // SAFETY: the caller passes two arrays of `count` elements, or null.
        let (sources, degrees) = unsafe { (copied(sources, count)?, copied(degrees, count)?) };
        let mut total = 0usize;
        for &degree in &degrees {
            total = total.checked_add(usize::try_from(degree).ok()?)?;
        }
        if !in_range(&sources, size) || c_int::try_from(total).is_err() {
            return None;
        }
        // SAFETY: MPI_Dist_graph_create takes as many destinations as the degrees add up to.
        let all = unsafe { Side::read(total as c_int, destinations, weights, sentinels, size)? };
        let from = sources.iter().zip(&degrees);
        let from = from.flat_map(|(&s, &d)| std::iter::repeat_n(s, d.max(0) as usize));
        let weight = |i| all.weights.get(i).copied().unwrap_or(1);
        let edges = from.zip(&all.ranks).enumerate().map(|(i, (s, &d))| (s, d, weight(i)));
        Some(Given { edges: edges.collect(), form: all.form })
    }

    /// Sends every edge to the processes of both its ends. The edges of a vertex are in the order of the ranks
    /// of the processes that gave them. The edges from one process keep the order in which that process gave
    /// them. Collective.
    pub fn distributed<A: Abi>(
        &self,
        private: &PrivateComm<A>,
        weighted: bool,
    ) -> Option<Adjacency> {
        type Half = (bool, c_int, c_int);
        let mut halves: Vec<Vec<Half>> = vec![Vec::new(); private.size];
        for &(source, destination, weight) in &self.edges {
            halves.get_mut(source as usize)?.push((true, destination, weight));
            halves.get_mut(destination as usize)?.push((false, source, weight));
        }
        let strings: Vec<Vec<u8>> = halves
            .iter()
            .map(
                |h| if h.is_empty() { Vec::new() } else { encoding::encode(h).unwrap_or_default() },
            )
            .collect();
        drop(halves);
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for string in exchange::alltoall(private, &strings)?.iter().filter(|s| !s.is_empty()) {
            for (outgoing, other, weight) in encoding::decode::<Vec<Half>>(string)? {
                if outgoing { &mut to } else { &mut from }.push((other, weight));
            }
        }
        Some(Adjacency {
            sources: Side::from_edges(from, weighted),
            destinations: Side::from_edges(to, weighted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: Sentinels =
        Sentinels { unweighted: [2, 0, 0, 0, 0, 0, 0], empty: [3, 0, 0, 0, 0, 0, 0] };

    fn at(sentinel: [usize; 7]) -> *const c_int {
        sentinel[0] as *const c_int
    }

    fn side(ranks: &[c_int], weights: *const c_int, size: usize) -> Option<Side> {
        // SAFETY: an array of this length; the weights are a sentinel or as many.
        unsafe { Side::read(ranks.len() as c_int, ranks.as_ptr(), weights, &C, size) }
    }

    #[test]
    fn forms_of_weights_are_kept_apart() {
        let numbers = [5, 0];
        let read = side(&[1, 1], numbers.as_ptr(), 2).unwrap();
        assert_eq!((read.form, read.claim_and_edges()), (Form::Numbers, (1, vec![(1, 5), (1, 0)])));
        let read = side(&[1, 0], at(C.unweighted), 2).unwrap();
        assert_eq!(
            (read.form, read.claim_and_edges()),
            (Form::Unweighted, (2, vec![(1, 1), (0, 1)]))
        );
        assert_eq!(side(&[], at(C.empty), 2).unwrap().form, Form::Empty);
        assert_eq!(side(&[], std::ptr::null(), 2).unwrap().form, Form::Null);
    }

    impl Side {
        fn claim_and_edges(&self) -> (u64, Vec<(u32, u64)>) {
            (self.form.claim(), self.edges())
        }
    }

    #[test]
    fn wrong_arguments_are_left_to_mpi() {
        assert_eq!(side(&[2], at(C.unweighted), 2), None, "no such rank");
        assert_eq!(side(&[-1], at(C.unweighted), 2), None);
        assert_eq!(side(&[1], at(C.empty), 2), None, "edges without their weights");
        assert_eq!(side(&[1], std::ptr::null(), 2), None);
        assert_eq!(side(&[1], [-5].as_ptr(), 2), None, "a negative weight");
        // SAFETY: null pointers and a negative degree are what is tried.
        unsafe {
            assert_eq!(Side::read(-1, std::ptr::null(), at(C.unweighted), &C, 2), None);
            assert_eq!(Side::read(1, std::ptr::null(), at(C.unweighted), &C, 2), None);
        }
    }

    #[test]
    fn edges_of_any_process_are_read_in_order() {
        let (sources, degrees, to, weights) = ([3, 0], [2, 1], [1, 2, 3], [7, 8, 9]);
        // SAFETY: arrays as MPI_Dist_graph_create takes them.
        let given = unsafe {
            let (s, d, t) = (sources.as_ptr(), degrees.as_ptr(), to.as_ptr());
            Given::read(2, s, d, t, weights.as_ptr(), &C, 4).unwrap()
        };
        assert_eq!(given.edges, [(3, 1, 7), (3, 2, 8), (0, 3, 9)]);
        // SAFETY: no elements are read where the count is 0.
        let none = unsafe {
            let null = std::ptr::null();
            Given::read(0, null, null, null, null, &C, 4).unwrap()
        };
        assert_eq!((none.edges.len(), none.claim()), (0, 1));
        // SAFETY: arrays of the lengths that the counts say; the source is no rank.
        assert!(unsafe {
            let (s, d, t) = (sources.as_ptr(), degrees.as_ptr(), to.as_ptr());
            Given::read(2, s, d, t, weights.as_ptr(), &C, 3).is_none()
        });
    }
}
