// Package load turns a folder of schema transcriptions into checked input for
// the compiler, and official schema files into such transcriptions.
//
// It is strict so that the stages after it need not be: what it hands on has
// no duplicate key, no keyword the compiler does not understand, no reference
// that leads nowhere, and compiles as JSON Schema. Everything it finds wrong
// is reported at once, each as "file#/json/pointer: what to do".
package load
