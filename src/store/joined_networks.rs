//! Several surveys of parts of one cluster, joined by the hosts that they have in common.
//!
//! Two groups of one level are one if a host is in both. They are apart if one survey has both. A survey that
//! contradicts those before it is not used. Each group has a bit for each survey that has it, so that two groups are
//! apart if they share a bit. The time is linear in the hosts of the surveys, except that the groups of an answer are
//! compared in pairs.

use super::stored_survey::{MeasuredNetwork, StoredSurvey, renumbered};
use std::collections::{HashMap, HashSet};

/// Surveys that are joined: the bits of a mask.
const MOST_SURVEYS: usize = 64;
/// Innermost groups of an answer. Their pairs are compared.
const MOST_GROUPS: usize = 4096;
/// The group around one of the outermost level.
const NONE: u32 = u32::MAX;

/// Groups of all levels, numbered across the levels.
#[derive(Clone, Default)]
struct Groups {
    /// The group that this one was united with, or itself.
    parent: Vec<u32>,
    /// The surveys that have the group. Valid for a group that is its own parent.
    surveys: Vec<u64>,
    /// The group around it in the level outside.
    outer: Vec<u32>,
}

impl Groups {
    fn root(&self, group: u32) -> u32 {
        let mut root = group;
        while root != NONE && self.parent[root as usize] != root {
            root = self.parent[root as usize];
        }
        root
    }

    fn add(&mut self, outer: u32) -> u32 {
        let group = self.parent.len() as u32;
        self.parent.push(group);
        self.surveys.push(0);
        self.outer.push(outer);
        group
    }

    fn are_apart(&self, a: u32, b: u32) -> bool {
        self.surveys[a as usize] & self.surveys[b as usize] != 0
    }

    /// Makes one group of two that are their own parents; `false` if they are apart.
    fn unite(&mut self, a: u32, b: u32) -> bool {
        if self.are_apart(a, b) {
            return false;
        }
        // The smaller number becomes the parent, so that paths to the root are short: older groups are larger.
        let (into, from) = (a.min(b), a.max(b));
        self.parent[from as usize] = into;
        self.surveys[into as usize] |= self.surveys[from as usize];
        true
    }

    /// Whether groups that are one are also inside one group.
    fn are_nested(&self) -> bool {
        (0u32..).zip(&self.outer).all(|(group, &outer)| {
            self.root(outer) == self.root(self.outer[self.root(group) as usize])
        })
    }
}

/// The network that several surveys say together.
pub(super) struct Joined<'s> {
    newest: &'s MeasuredNetwork,
    /// For each known host its group in each level.
    paths: HashMap<&'s str, Vec<u32>>,
    groups: Groups,
    surveys: usize,
}

impl<'s> Joined<'s> {
    /// Joins the surveys that have hosts of the same groups as the newest one with some of `hosts`. The surveys are
    /// given with the newest first.
    pub fn of(surveys: &[&'s StoredSurvey], hosts: &[String]) -> Option<Joined<'s>> {
        let asked: HashSet<&str> = hosts.iter().map(String::as_str).collect();
        let with_levels = |s: &&&StoredSurvey| !s.network.is_flat() && s.network.is_certain;
        let touches = |s: &&&StoredSurvey| s.hosts.iter().any(|name| asked.contains(name.as_str()));
        let first = *surveys.iter().filter(with_levels).find(touches)?;
        let mut joined = Joined {
            newest: &first.network,
            paths: HashMap::new(),
            groups: Groups::default(),
            surveys: 0,
        };
        joined.add(first);
        let mut left: Vec<&&'s StoredSurvey> = surveys.iter().filter(with_levels).collect();
        left.retain(|s| !std::ptr::eq(**s, first));
        // A survey may have hosts in common with one that is added after it.
        loop {
            let before = left.len();
            left.retain(|survey| !joined.add(survey));
            if left.len() == before || left.is_empty() {
                return Some(joined);
            }
        }
    }

    /// Adds a survey; `false` if it has no host in common, other levels, or contradicts what is known.
    fn add(&mut self, survey: &'s StoredSurvey) -> bool {
        let levels = self.newest.level_names.len();
        let common = survey.hosts.iter().any(|name| self.paths.contains_key(name.as_str()));
        let fits = survey.network.level_names.len() == levels && self.surveys < MOST_SURVEYS;
        if !fits || !(common || self.paths.is_empty()) {
            return false;
        }
        let mut groups = self.groups.clone();
        let Some(known) = self.united(&mut groups, survey) else { return false };
        self.groups = groups;
        self.insert(survey, known);
        self.surveys += 1;
        true
    }

    /// Unites groups of which hosts are in one group of the survey. Returns for each level the group of each group
    /// of the survey that is known; `None` if the survey contradicts what is known.
    fn united(&self, groups: &mut Groups, survey: &StoredSurvey) -> Option<Vec<HashMap<u32, u32>>> {
        let mut known: Vec<HashMap<u32, u32>> = vec![HashMap::new(); self.newest.level_names.len()];
        for (name, theirs) in survey.hosts.iter().zip(&survey.network.group_of_host) {
            let Some(ours) = self.paths.get(name.as_str()) else { continue };
            for (level, known) in known.iter_mut().enumerate() {
                let ours = groups.root(ours[level]);
                let one = groups.root(*known.entry(theirs[level]).or_insert(ours));
                if one != ours && !groups.unite(one, ours) {
                    return None;
                }
            }
        }
        for known in &mut known {
            let mut seen = HashSet::new();
            known.values_mut().for_each(|group| *group = groups.root(*group));
            // Groups that the survey tells apart are one here.
            if !known.values().all(|group| seen.insert(*group)) {
                return None;
            }
        }
        // What the survey says of the group around a group.
        let fits = |theirs: &Vec<u32>| {
            (1..known.len()).all(|level| {
                let ours = |level: usize| known[level].get(&theirs[level]).copied();
                match (ours(level), ours(level - 1)) {
                    (Some(inner), Some(outer)) => {
                        groups.root(groups.outer[inner as usize]) == outer
                    }
                    (Some(_), None) => false,
                    (None, _) => true,
                }
            })
        };
        (groups.are_nested() && survey.network.group_of_host.iter().all(fits)).then_some(known)
    }

    /// Adds the hosts and the groups of a survey that contradicts nothing.
    fn insert(&mut self, survey: &'s StoredSurvey, mut known: Vec<HashMap<u32, u32>>) {
        let bit = 1u64 << self.surveys;
        for (name, theirs) in survey.hosts.iter().zip(&survey.network.group_of_host) {
            let mut outer = NONE;
            let mut path = Vec::with_capacity(known.len());
            for (known, theirs) in known.iter_mut().zip(theirs) {
                outer = *known.entry(*theirs).or_insert_with(|| self.groups.add(outer));
                self.groups.surveys[outer as usize] |= bit;
                path.push(outer);
            }
            self.paths.entry(name.as_str()).or_insert(path);
        }
    }

    /// The network between some hosts, if all of it is known.
    pub fn answer(&self, hosts: &[String]) -> Option<MeasuredNetwork> {
        let levels = self.newest.level_names.len();
        let path = |name: &String| {
            let path = self.paths.get(name.as_str())?;
            Some(path.iter().map(|&group| self.groups.root(group)).collect::<Vec<u32>>())
        };
        let paths: Vec<Vec<u32>> = hosts.iter().map(path).collect::<Option<_>>()?;
        let distinct: HashSet<u32> = paths.iter().filter_map(|path| path.last()).copied().collect();
        let inner = Vec::from_iter(distinct);
        if inner.len() > MOST_GROUPS {
            return None;
        }
        let certain = (0..inner.len())
            .all(|k| inner[..k].iter().all(|&other| self.groups.are_apart(inner[k], other)));
        certain.then(|| MeasuredNetwork {
            group_of_host: renumbered(paths, levels),
            ..self.newest.clone()
        })
    }
}
