//! The tools of an agent, each with what checks its arguments.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::setup::Setup;
use crate::schema::{SchemaError, Validator};
use crate::tool::{Tool, ToolOwner, ToolSet, ToolSpec};

/// A tool set with its schemas, each compiled when it is first needed: compiling takes longer than all else before the
/// first request.
pub(crate) struct ToolTable {
    pub(crate) set: ToolSet,
    validators: HashMap<String, LateValidator>,
}

/// A schema that is compiled by the first call of its tool.
pub(crate) struct LateValidator {
    spec: Arc<ToolSpec>,
    compiled: OnceLock<Result<Validator, SchemaError>>,
}

impl ToolTable {
    pub(crate) fn new(set: ToolSet) -> Result<Self, ToolSchemaError> {
        let mut validators = HashMap::new();
        for spec in set.specs() {
            let name = spec.name.clone();
            let late = LateValidator::new(spec);
            // Nobody has looked at an embedder's schema before. An extension's was compiled when it was registered,
            // and those of haft's own tools are tested.
            if late.spec.owner == ToolOwner::Embedder {
                late.get()
                    .map_err(|source| ToolSchemaError { tool: name.clone(), source: source.clone() })?;
            }
            validators.insert(name, late);
        }
        Ok(Self { set, validators })
    }

    /// What a model with this setup is told, in order.
    pub(crate) fn offered(&self, setup: &Setup) -> Vec<Arc<ToolSpec>> {
        let mut specs = self.set.specs();
        if setup.active.is_some() {
            specs.retain(|spec| setup.offers(&spec.name));
        }
        specs
    }

    /// A tool, and what checks its arguments.
    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        Some((self.set.get(name)?, self.validators.get(name)?))
    }
}

/// The tools of a moment, as far as the model is offered them.
pub(crate) struct Offered {
    tools: Arc<ToolTable>,
    setup: Setup,
    /// One that came when it was called.
    late: Option<(Arc<dyn Tool>, LateValidator)>,
}

impl Offered {
    pub(crate) fn new(tools: Arc<ToolTable>, setup: Setup) -> Self {
        Self { tools, setup, late: None }
    }

    /// Offers a tool that came late, too.
    pub(crate) fn add(&mut self, tool: Arc<dyn Tool>) {
        let validator = LateValidator::new(tool.spec());
        self.late = Some((tool, validator));
    }

    /// A tool that is offered, and what checks its arguments.
    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        self.known(name).filter(|_| self.setup.offers(name))
    }

    /// Whether nobody has registered a tool of this name, and none of the agent's own choices leaves it out.
    pub(crate) fn is_unknown(&self, name: &str) -> bool {
        self.known(name).is_none() && self.setup.offers(name)
    }

    fn known(&self, name: &str) -> Option<(&Arc<dyn Tool>, &LateValidator)> {
        let late = self.late.iter().find(|(tool, _)| tool.spec().name == name);
        self.tools.get(name).or_else(|| late.map(|(tool, validator)| (tool, validator)))
    }

    /// The names of those that are offered, in order.
    pub(crate) fn names(&self) -> String {
        let names: Vec<String> =
            self.tools.offered(&self.setup).iter().map(|spec| spec.name.clone()).collect();
        names.join(", ")
    }
}

impl LateValidator {
    pub(crate) fn new(spec: Arc<ToolSpec>) -> Self {
        Self { spec, compiled: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Result<&Validator, &SchemaError> {
        self.compiled.get_or_init(|| Validator::compile(&self.spec.schema)).as_ref()
    }
}

/// A tool whose schema does not compile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?} cannot be offered to a model")]
pub struct ToolSchemaError {
    /// The tool.
    pub tool: String,
    /// What is wrong with its schema.
    pub source: SchemaError,
}
