//! The permutations that constructors of topologies found in this process, until the job ends.

use parking_lot::Mutex;
use rw::launch::constructed_orders::ConstructedOrders;

/// The permutations that this process computed.
pub static CONSTRUCTED: Mutex<ConstructedOrders> = Mutex::new(ConstructedOrders::new());
