//! Whether a stronger preset is ever worse: random problems of all kinds with each preset.
//!
//!     cargo bench --bench presets [-- [FIRST] COUNT]
//!     cargo bench --bench presets -- FIRST COUNT LARGEST      problems with up to LARGEST tasks in place of 48
//!     cargo bench --bench presets -- 100000 300               with adaptive and hashed routings among the machines
//!
//! The problems differ in topology (trees, tori, meshes, dragonflies, fat trees, tables of distances), traffic,
//! objective, allowed and fixed slots, loads, shared slots and previous mappings. Every answer is evaluated by
//! `rankweave::metrics`. Prints each violation, the number of violations, and the exact answers of small
//! problems.

#[path = "../small/all_placements.rs"]
mod all_placements;
mod instances;
mod small;

use instances::Instance;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (first, count, largest) = match numbers.as_slice() {
        [] => (0, 1000, 48),
        [count] => (0, *count, 48),
        [first, count] => (*first, *count, 48),
        [first, count, largest, ..] => (*first, *count, usize::try_from(*largest)?),
    };
    let (mut violations, mut refused) = (0, 0);
    for number in first..first + count {
        match Instance::new(number, largest).violation() {
            Ok(None) => {}
            Ok(Some(line)) => {
                violations += 1;
                println!("violation: {line}");
            }
            Err(error) => {
                refused += 1;
                println!("refused: problem {number}: {error}");
            }
        }
    }
    println!("{count} problems, {violations} violations, {refused} refused");
    small::report()?;
    match violations + refused {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {count} problems are wrong").into()),
    }
}
