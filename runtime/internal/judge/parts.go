package judge

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// parts lists the schemas that a schema is made of, and nils.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Items2020, s.Contains, s.UnevaluatedItems, s.ContentSchema,
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	loose := []any{s.Items, s.AdditionalItems, s.AdditionalProperties}
	for _, x := range slices.AppendSeq(loose, maps.Values(s.Dependencies)) {
		switch x := x.(type) {
		case *jsonschema.Schema:
			list = append(list, x)
		case []*jsonschema.Schema:
			list = append(list, x...)
		}
	}
	return list
}
