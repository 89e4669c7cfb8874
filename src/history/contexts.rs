//! What followed what: for each position its last `depth` tokens, read backwards, in a compressed trie.
//!
//! A node stands for a run of tokens that ended before two different ones, or for a whole context, and tallies the tokens
//! that came next. The nodes on the way that the end of a context spells, backwards, are all its suffixes that occurred
//! before; the deeper the node, the fewer tokens it tallies, and each of them is among those of the nodes above.
//!
//! A run is not stored: a node knows one position before which it stands. Positions come in any order and go in any
//! order, but a token that is still at some position never changes, and the least position ever added below a node is
//! kept, so it is still part of the context whenever another one is.
//!
//! A position costs the comparison of what it shares with the past, at most `depth` tokens, and a tally for each node on
//! the way, at most `depth`; one in common text is a few. A new branch copies the tally of the node that it leaves.
//! Memory: at most two nodes for each position.

use std::collections::HashMap;

use super::tally::Tally;

const ROOT: u32 = 0;

#[derive(Debug, Clone)]
pub(crate) struct Contexts {
    /// How long a whole context is.
    depth: usize,
    /// Nodes above this depth tally nothing.
    least: usize,
    nodes: Vec<Node>,
    /// Nodes that are free again.
    free: Vec<u32>,
    /// Who follows a node, by the token that comes next, backwards.
    children: HashMap<(u32, u32), u32>,
    /// The nodes on the way to the position that goes.
    way: Vec<u32>,
    /// Nodes visited and tokens compared.
    #[cfg(test)]
    pub(super) touched: usize,
}

#[derive(Debug, Clone, Default)]
struct Node {
    depth: usize,
    /// The run of the node stands before this position.
    position: u32,
    children: u32,
    /// The exclusive or of all children: with one left, that one.
    kin: u32,
    followers: Tally,
}

impl Contexts {
    /// Contexts of `depth` tokens, asked for with at least `least`.
    pub(crate) fn new(depth: usize, least: usize) -> Self {
        Self {
            depth,
            least,
            nodes: vec![Node::default()],
            free: Vec::new(),
            children: HashMap::new(),
            way: Vec::new(),
            #[cfg(test)]
            touched: 0,
        }
    }

    /// Adds the token at `position`, with at least `depth` tokens before.
    pub(crate) fn insert(&mut self, tokens: &[u32], position: usize) {
        let mut node = ROOT;
        self.join(tokens, node, position);
        while self.at(node).depth < self.depth {
            node = self.descend(tokens, node, position);
            self.join(tokens, node, position);
        }
    }

    /// Takes the token at `position`, which was added, away.
    pub(crate) fn remove(&mut self, tokens: &[u32], position: usize) {
        let mut way = std::mem::take(&mut self.way);
        way.clear();
        let mut node = ROOT;
        loop {
            way.push(node);
            self.leave(tokens, node, position);
            let depth = self.at(node).depth;
            if depth == self.depth {
                break;
            }
            let Some(&child) = self.children.get(&(node, before(tokens, position, depth))) else { break };
            node = child;
        }
        if let [.., parent, leaf] = way[..]
            && self.at(leaf).followers.is_empty()
        {
            self.prune(tokens, parent, leaf, position);
            if let [.., above, parent, _] = way[..] {
                self.merge(tokens, above, parent);
            }
        }
        self.way = way;
    }

    /// What followed the last `depth` of `tokens`.
    pub(crate) fn find(&self, tokens: &[u32]) -> Option<&Tally> {
        let mut node = ROOT;
        let end = tokens.len();
        while self.at(node).depth < self.depth {
            let depth = self.at(node).depth;
            if depth >= end {
                return None;
            }
            node = *self.children.get(&(node, before(tokens, end, depth)))?;
            let reach = self.at(node).depth;
            if reach > end || self.agree(tokens, node, end, depth, reach) < reach {
                return None;
            }
        }
        Some(&self.at(node).followers)
    }

    /// Notes the nodes on the way of the last `longest` of `tokens`, with how many of these each agrees with.
    pub(crate) fn follow(&mut self, tokens: &[u32], longest: usize, way: &mut Vec<(u32, usize)>) {
        let (mut node, mut depth) = (ROOT, 0);
        let end = tokens.len();
        while depth < longest {
            let Some(&child) = self.children.get(&(node, before(tokens, end, depth))) else { return };
            let reach = self.at(child).depth.min(longest);
            let common = self.agree(tokens, child, end, depth, reach);
            self.touch(1 + common - depth);
            way.push((child, common));
            if common < self.at(child).depth {
                return;
            }
            (node, depth) = (child, common);
        }
    }

    /// What followed the run of a node.
    pub(crate) fn followers(&self, node: u32) -> &[(u32, u32)] {
        self.at(node).followers.entries()
    }

    fn at(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// The token at `position` came after the run of `node`.
    fn join(&mut self, tokens: &[u32], node: u32, position: usize) {
        self.touch(1);
        let tallies = self.at(node).depth >= self.least;
        let node = &mut self.nodes[node as usize];
        node.position = node.position.min(narrow(position));
        if tallies {
            node.followers.add(tokens[position]);
        }
    }

    /// The token at `position` does not come after the run of `node` any more.
    fn leave(&mut self, tokens: &[u32], node: u32, position: usize) {
        self.touch(1);
        let tallies = self.at(node).depth >= self.least;
        if tallies {
            self.nodes[node as usize].followers.remove(tokens[position]);
        }
    }

    /// The node below `node` on the way to `position`: there already, put between, or new.
    fn descend(&mut self, tokens: &[u32], node: u32, position: usize) -> u32 {
        let depth = self.at(node).depth;
        let first = before(tokens, position, depth);
        let Some(&child) = self.children.get(&(node, first)) else {
            let leaf = self.put(Node { depth: self.depth, position: narrow(position), ..Node::default() });
            self.children.insert((node, first), leaf);
            let parent = &mut self.nodes[node as usize];
            parent.children += 1;
            parent.kin ^= leaf;
            return leaf;
        };
        let reach = self.at(child).depth;
        let common = self.agree(tokens, child, position, depth, reach);
        self.touch(common - depth);
        if common == reach { child } else { self.split(tokens, node, child, common) }
    }

    /// Puts a node of depth `common` between `node` and its `child`.
    fn split(&mut self, tokens: &[u32], node: u32, child: u32, common: usize) -> u32 {
        let below = self.at(child);
        let position = below.position;
        let followers = if common >= self.least { below.followers.clone() } else { Tally::Empty };
        self.touch(followers.entries().len());
        let between = self.put(Node { depth: common, position, children: 1, kin: child, followers });
        let first = before(tokens, position as usize, self.at(node).depth);
        self.children.insert((node, first), between);
        self.nodes[node as usize].kin ^= child ^ between;
        self.children.insert((between, before(tokens, position as usize, common)), child);
        between
    }

    /// Takes a leaf away that nothing follows any more.
    fn prune(&mut self, tokens: &[u32], parent: u32, leaf: u32, position: usize) {
        self.children.remove(&(parent, before(tokens, position, self.at(parent).depth)));
        let node = &mut self.nodes[parent as usize];
        node.children -= 1;
        node.kin ^= leaf;
        self.free(leaf);
    }

    /// Takes a node away that has a single child left, which goes to the node above.
    fn merge(&mut self, tokens: &[u32], above: u32, node: u32) {
        let &Node { depth, children: 1, kin: child, .. } = self.at(node) else { return };
        let position = self.at(child).position as usize;
        self.children.remove(&(node, before(tokens, position, depth)));
        self.children.insert((above, before(tokens, position, self.at(above).depth)), child);
        self.nodes[above as usize].kin ^= node ^ child;
        self.free(node);
    }

    fn put(&mut self, node: Node) -> u32 {
        if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        self.nodes.push(node);
        narrow(self.nodes.len() - 1)
    }

    fn free(&mut self, node: u32) {
        self.nodes[node as usize] = Node::default();
        self.free.push(node);
    }

    /// How many of the tokens before `position` are those of the run of `node`, which are known to be so up to `depth`, and
    /// asked for up to `reach`.
    fn agree(&self, tokens: &[u32], node: u32, position: usize, depth: usize, reach: usize) -> usize {
        let other = self.at(node).position as usize;
        let ours = &tokens[position - reach..position - depth];
        let theirs = &tokens[other - reach..other - depth];
        if ours == theirs {
            return reach;
        }
        depth + ours.iter().rev().zip(theirs.iter().rev()).take_while(|(a, b)| a == b).count()
    }

    /// How many nodes there are.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    #[cfg(test)]
    fn touch(&mut self, count: usize) {
        self.touched += count;
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests count the work")]
    fn touch(&mut self, _: usize) {}
}

/// The token that stands `back` tokens before the one right before `position`.
fn before(tokens: &[u32], position: usize, back: usize) -> u32 {
    tokens[position - 1 - back]
}

/// A position in a context, or the number of a node: neither comes near 2^32.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
