// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: conditions over the arguments of a kernel, checked at launch.
//!
//! | module | contents |
//! |---|---|
//! | `condition`, `spelling` | a condition as it is parsed, and as users write it |
//! | `terms`, `subobject` | the meaning of expressions, and the bytes of a member in an argument |
//! | `sum`, `bounds` | the values of expressions, and the lengths that they bound |
//! | `safety` | the requirements of every safe launch, whatever the conditions are |
//! | `differences`, `implied` | conditions that users need not write, and the check of any condition |

pub(crate) mod bounds;
pub(crate) mod condition;
pub(crate) mod differences;
pub(crate) mod implied;
pub(crate) mod safety;
pub(crate) mod spelling;
pub(crate) mod subobject;
pub(crate) mod sum;
pub(crate) mod terms;

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::KernelSignature;

use crate::contract::condition::{Condition, FORM, RangeUse, keyword, split};
use crate::contract::differences::Differences;
use crate::contract::implied::{Implied, holds};
use crate::contract::terms::Terms;
use crate::names::cpp_name::CppName;
use crate::types::Types;

/// The conditions of a kernel.
pub(crate) struct Contract {
    conditions: Vec<Condition>,
    /// The condition on the number of dimensions. `range[k]` is dimension k of a kernel only if the range has
    /// as many dimensions as the kernel. The file does not record this number. The dimensions in conditions
    /// imply it, or a condition states it.
    dimensions: Option<Condition>,
    /// Whether parsing failed. The errors are already reported.
    unreadable: bool,
}

/// The checks of a launch.
pub(crate) struct Checked {
    /// All conditions, including the implied ones.
    pub(crate) texts: Vec<String>,
    /// The function that checks them: a closure without captures.
    pub(crate) function: TokenStream,
}

impl Contract {
    /// Parses the conditions after `where`. [`Self::check`] resolves the names in them.
    pub(crate) fn parse(conditions: &[TokenStream]) -> Result<Self, syn::Error> {
        let mut read = Vec::new();
        let mut errors: Option<syn::Error> = None;
        for tokens in conditions {
            let condition = syn::parse2(tokens.clone())
                .map_err(|error| keyword(tokens).unwrap_or(syn::Error::new(error.span(), FORM)))
                .and_then(|expression| split(&expression, &mut read));
            if let Err(error) = condition {
                match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                }
            }
        }
        let mut range = RangeUse::default();
        for condition in &read {
            range.look(&condition.left.expression);
            range.look(&condition.right.expression);
        }
        let dimensions = match range {
            RangeUse {
                last: Some(last),
                count: false,
            } => {
                let count = Literal::usize_unsuffixed(last + 1);
                let mut implied = Vec::new();
                split(
                    &syn::parse_quote!(range.dimensions() == #count),
                    &mut implied,
                )?;
                implied.pop()
            }
            _ => None,
        };
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Self {
                conditions: read,
                dimensions,
                unreadable: false,
            }),
        }
    }

    /// Returns a placeholder for a contract that cannot be parsed.
    pub(crate) const fn unreadable() -> Self {
        Self {
            conditions: Vec::new(),
            dimensions: None,
            unreadable: true,
        }
    }

    /// Returns the written conditions, and the condition on dimensions. A kernel that is compiled for a
    /// work-group size cannot be launched over other dimensions.
    fn written(&self, kernel: &KernelSignature) -> impl Iterator<Item = &Condition> {
        let implied = self.dimensions.iter();
        let implied = implied.filter(|_| kernel.required_local_size.is_none());
        implied.chain(&self.conditions)
    }

    /// Returns the checks of a launch of `kernel`.
    ///
    /// # Errors
    ///
    /// Returns all mistakes: a condition names something that the kernel does not have, or something that is
    /// not an integer, or no condition bounds a buffer.
    pub(crate) fn check(
        &self,
        kernel: &KernelSignature,
        item: &CppName,
        types: &Types<'_>,
        depth: usize,
    ) -> Result<Checked, Vec<syn::Error>> {
        let parameters = kernel.parameters.as_deref().unwrap_or_default();
        let mut terms = Terms::new(kernel, types, depth);
        let (mut written, mut errors) = (Vec::new(), Vec::new());
        let mut differences = Differences::default();
        for condition in self.written(kernel) {
            let sides =
                [&condition.left, &condition.right].map(|side| terms.number(&side.expression));
            let [left, right] = sides.map(|side| side.map_err(|error| errors.push(error)).ok());
            let blamed = terms.blamed();
            let (Some(left), Some(right)) = (left, right) else {
                continue;
            };
            let Condition { text, relation, .. } = condition;
            terms.bounds.compare(&left.sum, *relation, &right.sum);
            for (side, value, other) in [
                (&condition.left, &left, &right),
                (&condition.right, &right, &left),
            ] {
                differences.add(side, value, other, blamed);
            }
            differences.conditions += 1;
            let sides = [&*condition.left.text, &*condition.right.text];
            let check = holds(text, blamed, *relation, sides, [left.code, right.code]);
            written.push((text.clone(), check));
        }
        let bools = safety::bools(parameters, types);
        // If a condition has a mistake, its bounds are unknown.
        if !self.unreadable {
            let bounded = if errors.is_empty() {
                terms.bounds.bounded()
            } else {
                terms.named.clone()
            };
            let mut missing = safety::missing(parameters, types, &bounded, &terms.named);
            missing.extend(bools.as_ref().err().cloned());
            errors.extend(missing.into_iter().map(|message| item.error(message)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let bools = bools.unwrap_or_default();
        let mut all: Vec<(String, TokenStream)> = Vec::new();
        let natural = terms.bounds.natural_numbers();
        let signed = terms.signed.iter();
        let signed = signed.filter(|(number, _)| natural.contains(number));
        let signed = signed.map(|(_, implied)| implied);
        let binding = terms.bounds.binding();
        let differences = differences.beside_lengths(&binding);
        let numbers = terms.unsure.iter().chain(signed).chain(differences);
        let implied = numbers.chain(&bools).map(Implied::check);
        for (text, check) in implied.chain(written) {
            // A number may be named twice, and the user may have written the implied condition.
            if all.iter().all(|(other, _)| *other != text) {
                all.push((text, check));
            }
        }
        let aligned = safety::alignments(parameters, types, &terms.aligned);
        all.extend(aligned.iter().map(Implied::check));
        let (texts, checks): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let launch = if checks.is_empty() {
            quote!(_)
        } else {
            quote!(given)
        };
        let function = quote! {
            |#launch| {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        };
        Ok(Checked { texts, function })
    }
}
