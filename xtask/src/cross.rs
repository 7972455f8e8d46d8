//! placeholder
use std::error::Error;
use crate::workspace::Workspace;
pub(crate) fn main(_workspace: &Workspace, _arguments: &[String]) -> Result<(), Box<dyn Error>> { Ok(()) }
