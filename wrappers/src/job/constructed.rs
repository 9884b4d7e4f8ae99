//! The permutations that constructors of topologies found in this process, until the job ends.

use parking_lot::Mutex;
use rw::launch::constructed_orders::ConstructedOrders;

/// Those of this process.
pub static CONSTRUCTED: Mutex<ConstructedOrders> = Mutex::new(ConstructedOrders::new());
