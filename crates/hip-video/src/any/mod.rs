//! Any format to any other: what the kernels of `any.cu` are told.

mod axis;
mod filter;
mod params;
mod plan;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use axis::Field;
pub(crate) use params::AnyParams;
pub(crate) use plan::AnyPlan;
