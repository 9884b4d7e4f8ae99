//! What constructors of topologies found in this process, until the job ends: permutations, and what the sources of
//! the network said.

use parking_lot::Mutex;
use rw::launch::SaidOfNodes;
use rw::launch::constructed_orders::ConstructedOrders;

/// The permutations that this process computed.
pub static CONSTRUCTED: Mutex<ConstructedOrders> = Mutex::new(ConstructedOrders::new());

/// What the sources of the network said to this process.
pub static SAID: SaidOfNodes = SaidOfNodes::new();
