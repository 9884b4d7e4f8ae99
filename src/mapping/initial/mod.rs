//! First answers on the coarsest graph.

mod grow;

pub(crate) use grow::grow;
