//! What a mapping is to minimise.

use crate::base::named_enum::named_enum;

named_enum! {
    /// The quantity to minimise; the names are those of `--objective`.
    #[derive(Default)]
    pub enum Objective, "objective" {
        /// Bytes times distance, summed over all pairs (UMPA paper: weighted hops).
        #[default]
        HopBytes = "hop-bytes",
        /// Distance summed over all pairs with traffic (UMPA paper: total hops).
        TotalHops = "total-hops",
        /// Sum of the cost of all pairs (TopoMatch paper: SumCom).
        SumCom = "sum-com",
        /// Cost of the most expensive pair (TopoMatch paper: MaxCom).
        MaxCom = "max-com",
        /// Time of the most loaded link, bytes over bandwidth (UMPA paper: maximum congestion).
        Mc = "mc",
        /// Pairs on the most loaded link (UMPA paper: maximum message congestion).
        Mmc = "mmc",
        /// Predicted time of all traffic at once under the routing of the network: that of the slowest link, slot or
        /// node; if it is equal, that of all links together.
        Time = "time",
    }
}

impl Objective {
    /// True if it depends on the load of links. Not every topology has links.
    pub fn needs_links(self) -> bool {
        matches!(self, Objective::Mc | Objective::Mmc | Objective::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    #[test]
    fn names_read_back() {
        for objective in Objective::ALL {
            assert_eq!(objective.name().parse::<Objective>().unwrap(), objective);
        }
        assert_eq!("hops".parse::<Objective>().unwrap_err().kind(), ErrorKind::Usage);
    }
}
