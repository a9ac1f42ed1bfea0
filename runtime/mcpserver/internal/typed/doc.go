// Package typed converts between JSON and Go types. It infers schemas from types, and
// decodes documents into values according to a schema.
//
//	schema, plan, err := typed.InferPlan(reflect.TypeFor[Input](), &typed.Options{Input: true})
//	err = plan.Read(arguments, &in)
//
// A plan is made once and decodes in one pass. Unlike encoding/json, names must match
// exactly, 1.0 is an integer, and a duplicate member is an error.
package typed
