//! What star does when nobody says otherwise, and its environment.
//!
//! STAR_COMPRESS_FLAG is not here: star hands it to the program that compresses, never to one that decompresses.

use durastar::plan::create::ArchiveFormat;
use durastar::plan::{DurabilityMode, Plan};

use crate::cli::assemble::Facts;
use crate::cli::dialect::{Rules, gnu};
use crate::cli::number;
use crate::cli::option::Bad;
use crate::cli::usage::UsageError;

/// The plan of an empty command line, and what no setting says.
pub(crate) fn defaults(facts: &Facts<'_>) -> Result<(Plan, Rules), UsageError> {
    let (mut plan, mut rules) = gnu::defaults::defaults(facts);
    let set = |name: &str| (facts.environment)(name).filter(|value| !value.is_empty());
    // star syncs every regular file; STAR_FSYNC=N is its way to say no for good.
    plan.durability.mode = match set("STAR_FSYNC").as_deref() {
        Some(b"N") => DurabilityMode::None,
        _ => DurabilityMode::Each,
    };
    plan.extract.secure_links = set("STAR_SECURE_LINKS").as_deref() != Some(b"N");
    plan.extract.atime = true;
    plan.create.format = ArchiveFormat::Xstar;
    plan.create.skip_dot = true;
    plan.extract.announce_first = false;
    if let Some(size) = set("STAR_FIFOSIZE") {
        plan.archive.fifo_bytes = number::star(&size, 1)
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| UsageError::BadValue {
                option: "STAR_FIFOSIZE".to_owned(),
                value: size.clone(),
                bad: Bad::Value("Bad fifo size environment"),
            })?;
    }
    rules.directories_stack = false;
    rules.lists_recurse = false;
    rules.excludes_are_names = true;
    rules.tape_by_default = false;
    rules.several_volumes = true;
    rules.newer_wins = true;
    rules.safe_writes = "-install";
    rules.list_option = "list=";
    Ok((plan, rules))
}
