//! Debian packages: one list in the repository, checked, and installed if need be.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::workspace::{Workspace, run, run_silently};

/// The list, in the top folder.
const LIST_FILE: &str = "apt-packages.txt";

/// How to go about installing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consent {
    /// Install without asking.
    pub(crate) yes: bool,
    /// Say nothing unless it fails.
    pub(crate) quiet: bool,
}

/// Makes sure that every package of `groups` is installed.
///
/// Root installs at once. Anyone else is asked before `sudo` is used; where nobody can
/// be asked, the error holds the exact command. On a system without dpkg the list is
/// printed and the caller goes on: the packages may be there under other names.
pub(crate) fn ensure(
    workspace: &Workspace,
    groups: &[&str],
    consent: Consent,
) -> Result<(), Box<dyn Error>> {
    let wanted = packages(workspace, groups)?;
    let Some(installed) = installed(&wanted)? else {
        if !consent.quiet {
            eprintln!(
                "xtask: no dpkg-query here; needed are the equivalents of Debian's {}",
                wanted.join(" ")
            );
        }
        return Ok(());
    };
    let missing: Vec<&str> = wanted
        .iter()
        .map(String::as_str)
        .filter(|name| !installed.contains(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let sudo = !is_root()?;
    if sudo {
        ask(&missing, consent)?;
    }
    if !consent.quiet {
        eprintln!("xtask: installing {}", missing.join(" "));
    }
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&missing);
    for arguments in [vec!["update"], install] {
        let mut command = apt_get(sudo);
        command.args(arguments);
        if consent.quiet {
            run_silently(command.arg("-qq"))?;
        } else {
            run(command.stdin(Stdio::null()))?;
        }
    }
    Ok(())
}

/// The packages of `groups`, each once, in the list's order.
pub(crate) fn packages(
    workspace: &Workspace,
    groups: &[&str],
) -> Result<Vec<String>, Box<dyn Error>> {
    let path = workspace.root.join(LIST_FILE);
    let text = fs::read_to_string(&path).map_err(|error| format!("{LIST_FILE}: {error}"))?;
    let list = parse(&text)?;
    let mut chosen: Vec<String> = Vec::new();
    for group in groups {
        if !list.iter().any(|(name, _)| name == group) {
            return Err(format!("{LIST_FILE} has no group [{group}]").into());
        }
    }
    for (group, package) in list {
        if groups.contains(&group.as_str()) && !chosen.contains(&package) {
            chosen.push(package);
        }
    }
    Ok(chosen)
}

/// (group, package) pairs of the list.
fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut group = None;
    let mut pairs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            group = Some(name.to_owned());
        } else if let Some(group) = &group {
            pairs.push((group.clone(), line.to_owned()));
        } else {
            return Err(format!(
                "{LIST_FILE}:{}: a package before any [group]",
                index + 1
            ));
        }
    }
    Ok(pairs)
}

/// Which of `wanted` dpkg has installed; `None` where there is no dpkg.
fn installed(wanted: &[String]) -> Result<Option<Vec<&str>>, Box<dyn Error>> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat", "${Package} ${db:Status-Status}\n"])
        .args(wanted)
        .stderr(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("dpkg-query: {error}").into()),
    };
    // It exits with 1 as soon as one package is unknown, and still prints the others.
    let text = String::from_utf8_lossy(&output.stdout);
    let there: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_suffix(" installed"))
        .collect();
    Ok(Some(
        wanted
            .iter()
            .map(String::as_str)
            .filter(|name| there.contains(name))
            .collect(),
    ))
}

fn is_root() -> Result<bool, Box<dyn Error>> {
    let output = Command::new("id")
        .arg("-u")
        .output()
        .map_err(|error| format!("id: {error}"))?;
    Ok(output.stdout.trim_ascii() == b"0")
}

fn ask(missing: &[&str], consent: Consent) -> Result<(), Box<dyn Error>> {
    if consent.yes {
        return Ok(());
    }
    let names = missing.join(" ");
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(format!(
            "packages are missing; install them with\n  sudo apt-get update && \
             sudo apt-get install -y --no-install-recommends {names}\n\
             or pass --yes to have sudo do it"
        )
        .into());
    }
    eprint!("xtask: missing packages: {names}\nInstall them with sudo apt-get? [y/N] ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err("packages are missing, and were not installed".into()),
    }
}

fn apt_get(sudo: bool) -> Command {
    if sudo {
        let mut command = Command::new("sudo");
        command.args(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
    } else {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_groups_and_comments() {
        let pairs = parse("# top\n[build]\ng++ # C++\n\n[test]\n  tool\n").unwrap();
        assert_eq!(
            pairs,
            [
                ("build".to_owned(), "g++".to_owned()),
                ("test".to_owned(), "tool".to_owned())
            ]
        );
        assert!(parse("g++\n[build]\n").unwrap_err().contains(":1:"));
    }

    #[test]
    fn the_shipped_list_has_the_groups_that_the_subcommands_name() {
        let workspace = Workspace::locate().unwrap();
        for group in crate::GROUPS {
            assert!(
                !packages(&workspace, &[group]).unwrap().is_empty(),
                "[{group}] is empty"
            );
        }
        assert!(packages(&workspace, &["nonsense"]).is_err());
    }

    #[test]
    fn a_package_that_no_archive_has_is_not_installed() {
        let wanted = ["surely-no-such-package".to_owned()];
        assert!(
            installed(&wanted)
                .unwrap()
                .is_none_or(|there| there.is_empty())
        );
    }
}
