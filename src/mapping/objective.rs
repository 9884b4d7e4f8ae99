//! What a mapping is to minimise.

use crate::base::error::{Error, ErrorKind};
use std::str::FromStr;

/// The quantity to minimise; the names are those of `--objective`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Objective {
    /// Bytes times distance, summed over all pairs (UMPA paper: weighted hops).
    #[default]
    HopBytes,
    /// Distance summed over all pairs that talk (UMPA paper: total hops).
    TotalHops,
    /// Sum of the cost of all pairs (TopoMatch paper: SumCom).
    SumCom,
    /// Cost of the most expensive pair (TopoMatch paper: MaxCom).
    MaxCom,
    /// Time of the most loaded link, bytes over bandwidth (UMPA paper: maximum congestion).
    Mc,
    /// Pairs on the most loaded link (UMPA paper: maximum message congestion).
    Mmc,
    /// Predicted time of all traffic at once: the most loaded link, or the slot that sends or
    /// receives most over a link of bandwidth 1 of its own.
    Time,
}

impl Objective {
    /// All objectives, the default first.
    pub const ALL: [Objective; 7] = [
        Objective::HopBytes,
        Objective::TotalHops,
        Objective::SumCom,
        Objective::MaxCom,
        Objective::Mc,
        Objective::Mmc,
        Objective::Time,
    ];

    /// True if it is about links, which a topology may not have.
    pub fn needs_links(self) -> bool {
        matches!(self, Objective::Mc | Objective::Mmc | Objective::Time)
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Objective::HopBytes => "hop-bytes",
            Objective::TotalHops => "total-hops",
            Objective::SumCom => "sum-com",
            Objective::MaxCom => "max-com",
            Objective::Mc => "mc",
            Objective::Mmc => "mmc",
            Objective::Time => "time",
        }
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Objective::ALL.into_iter().find(|o| o.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Objective::ALL.iter().map(|o| o.name()).collect();
            Error::new(ErrorKind::Usage, format!("unknown objective '{name}'"))
                .advise(format!("one of {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for objective in Objective::ALL {
            assert_eq!(objective.name().parse::<Objective>().unwrap(), objective);
        }
        assert_eq!("hops".parse::<Objective>().unwrap_err().kind(), ErrorKind::Usage);
    }
}
