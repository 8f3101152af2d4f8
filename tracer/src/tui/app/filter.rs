//! The filter as typed: `order=2,3 route=slab_refill context=softirq gfp=__GFP_COMP comm=netperf udp_sendmsg`.
//!
//! A word without `=` is part of a function's name on the path. Must not know: how it is drawn.

use anyhow::{Context as _, Result, bail};

use crate::{model::Filter, routes::Route, run::Start};

/// What a filter may say, for its prompt.
pub const FORM: &str = "order=N,N route=NAME context=NAME gfp=FLAG,FLAG comm=NAME FUNCTION...";

/// Reads a filter; an empty text is the filter that lets everything through.
///
/// # Errors
/// With the word that is wrong and what would be right.
pub fn parse(text: &str, start: &Start) -> Result<Filter> {
    let mut filter = Filter::default();
    for word in text.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else {
            filter.frames.push(word.to_owned());
            continue;
        };
        match name {
            "order" => {
                for number in value.split(',') {
                    let order: u8 = number.parse().with_context(|| format!("`{number}` is no order"))?;
                    let most = start.host.max_order;
                    if order > most {
                        bail!("order {order}: this machine's largest is {most}");
                    }
                    filter.orders.insert(order);
                }
            }
            "route" => filter.route = Some(value.parse::<Route>()?.to_string()),
            "context" => filter.context = Some(value.to_owned()),
            "gfp" => {
                let mask = start.gfp.parse(value)?;
                filter.gfp = u32::try_from(mask).context("a gfp flag above 32 bits")?;
            }
            "comm" | "pid" | "cgroup" => {
                if start.by.as_deref() != Some(name) {
                    bail!("`{name}` was not counted apart: start with `--by {name}`");
                }
                filter.owner = Some(value.to_owned());
            }
            _ => bail!("no `{name}=`; there are order, route, context, gfp, comm, pid, cgroup"),
        }
    }
    Ok(filter)
}

/// A filter as it would be typed.
pub fn show(filter: &Filter, start: &Start) -> String {
    let mut words = Vec::new();
    if !filter.orders.is_empty() {
        let orders: Vec<String> = filter.orders.iter().map(u8::to_string).collect();
        words.push(format!("order={}", orders.join(",")));
    }
    if let Some(route) = &filter.route {
        words.push(format!("route={route}"));
    }
    if let Some(context) = &filter.context {
        words.push(format!("context={context}"));
    }
    if filter.gfp != 0 {
        words.push(format!("gfp={}", start.gfp.decode(u64::from(filter.gfp)).replace('|', ",")));
    }
    if let Some(owner) = &filter.owner {
        words.push(format!("{}={owner}", start.by.as_deref().unwrap_or("comm")));
    }
    words.extend(filter.frames.iter().cloned());
    words.join(" ")
}
