// Package typed is between JSON and Go types: it makes schemas of types, and
// reads documents into values with the meaning that a schema gives them.
//
//	schema, err := typed.Infer(reflect.TypeFor[Input](), &typed.Options{Input: true})
//	plan, err := typed.NewPlan(reflect.TypeFor[Input](), schema)
//	err = plan.Read(arguments, &in)
//
// A plan is made once and reads in one pass. Names match exactly, 1.0 is an
// integer, and a member that occurs twice is an error, unlike in encoding/json.
package typed
