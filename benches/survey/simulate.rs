//! Surveys of a model of a network: whether the leaf switches are found, and what it costs.
//!
//! One line for each kind of network and number of hosts. Three levels: 16 pods of 16 leaf switches with 16
//! hosts, of which the job has some, in a random order. Irregular: the leaf switches have different numbers of
//! hosts. The noise is jitter, outliers, losses and traffic of others. Figures are means over the seeds. Pairs are
//! compared with n · log2 n.

use rankweave::survey::{Limits, Model, Simulated, Surveyed, conduct};

const SIZES: [usize; 5] = [16, 64, 256, 1024, 4096];

/// What is expected of a survey.
enum Expected {
    Leaves,
    /// Both the leaf switches and the groups of them.
    Pods,
    Flat,
}

/// Three levels; the job has `count` hosts.
fn levels(count: usize, seed: u64, taper: f64) -> Model {
    let model = Model::regular(&[16, 16], 16).tapered(taper).noisy();
    // A part of the machine, as schedulers give it: some pods, and some hosts of each leaf switch.
    let near: Vec<u32> = (0..(2 * count as u32).min(4096)).collect();
    model.part(&near).random_part(count, seed)
}

/// Two levels of equal latency, whose uplinks have the bandwidth of a quarter of their hosts.
fn tapered(count: usize, seed: u64) -> Model {
    let size = if count <= 16 { 4 } else { 16 };
    let model = Model::regular(&[(count as u32).div_ceil(size)], size).tapered(4.0).noisy();
    Model { latency_of_level: 0.0, ..model }.random_part(count, seed)
}

/// Two levels of which latencies show one: `hidden` is the other one. The uplinks of leaf switches have a quarter of the
/// bandwidth below them if contention has to show these switches, else half of it. All links are a hundred times faster.
fn hidden(count: usize, seed: u64, hidden: usize) -> Model {
    let pods = (count as u32 / 64).max(2);
    let mut model =
        Model::regular(&[pods, 4], 16).tapered(if hidden == 1 { 4.0 } else { 2.0 }).noisy();
    model.levels_without_latency = vec![hidden];
    faster(model).random_part(count, seed)
}

fn faster(mut model: Model) -> Model {
    model.uplinks.iter_mut().chain(&mut model.hosts).for_each(|rate| *rate *= 100.0);
    model
}

/// Leaf switches with 1 to 24 hosts.
fn irregular(count: usize, seed: u64) -> Model {
    let model = Model::regular(&[16, 16], 24).noisy();
    let kept = |host: &u32| host % 24 <= (host / 24).wrapping_mul(7) % 24;
    let hosts: Vec<u32> = (0..16 * 16 * 24).filter(kept).take(2 * count).collect();
    let part = model.part(&hosts);
    part.random_part(count, seed)
}

fn flat(count: usize) -> Model {
    Model::regular(&[1], count as u32).noisy()
}

fn main() {
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    println!(
        "| network | hosts | right | wrong surveys | rounds | pairs | pairs/(n log n) | MB/host | s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, most, expected) in [
        ("three levels, not tapered", 4096, Expected::Leaves),
        ("three levels, tapered 2:1", 4096, Expected::Leaves),
        ("irregular", 4096, Expected::Leaves),
        ("equal latency, tapered 4:1", 256, Expected::Leaves),
        ("the same, 10 Gbit/s", 256, Expected::Leaves),
        ("leaves tapered, pods by latency", 256, Expected::Leaves),
        ("pods tapered, leaves by latency", 256, Expected::Pods),
        ("flat", 4096, Expected::Flat),
    ] {
        let least = if name.contains("by latency") { 256 } else { 16 };
        for count in SIZES.into_iter().filter(|&count| count >= least && count <= most) {
            let seeds = if count >= 1024 { seeds.min(5) } else { seeds };
            let mut sums = [0.0; 6];
            for seed in 0..seeds {
                let model = match name {
                    "three levels, not tapered" => levels(count, seed, 1.0),
                    "three levels, tapered 2:1" => levels(count, seed, 2.0),
                    "irregular" => irregular(count, seed),
                    "flat" => flat(count),
                    "the same, 10 Gbit/s" => faster(tapered(count, seed)),
                    "leaves tapered, pods by latency" => hidden(count, seed, 1),
                    "pods tapered, leaves by latency" => hidden(count, seed, 0),
                    _ => tapered(count, seed),
                };
                let found = survey(&model, seed);
                let right = match expected {
                    Expected::Leaves => model.right(found.levels.last().unwrap_or(&Vec::new())),
                    Expected::Pods => {
                        let mut above = model.clone();
                        above.paths.iter_mut().for_each(|path| path.truncate(1));
                        let leaves = model.right(found.levels.last().unwrap_or(&Vec::new()));
                        leaves.min(above.right(found.levels.first().unwrap_or(&Vec::new())))
                    }
                    Expected::Flat => f64::from(u8::from(found.is_flat())),
                };
                let evidence = found.evidence;
                for (sum, value) in sums.iter_mut().zip([
                    right,
                    f64::from(u8::from(right < 0.99)),
                    f64::from(evidence.rounds),
                    evidence.pings as f64,
                    evidence.bytes_per_host as f64 / 1e6,
                    evidence.seconds,
                ]) {
                    *sum += value;
                }
            }
            let n = seeds as f64;
            let log = count as f64 * (count as f64).log2();
            println!(
                "| {name} | {count} | {:.2} % | {} of {seeds} | {:.0} | {:.0} | {:.1} | {:.2} | {:.2} |",
                100.0 * sums[0] / n,
                sums[1],
                sums[2] / n,
                sums[3] / n,
                sums[3] / n / log,
                sums[4] / n,
                sums[5] / n
            );
        }
    }
}

fn survey(model: &Model, seed: u64) -> Surveyed {
    let hosts = model.paths.len();
    conduct(&mut Simulated::new(model, seed), Limits::for_hosts(hosts), seed)
}
