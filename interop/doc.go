// Package interop has nothing but tests: this module's client and the official
// Go SDK's meet each other's servers, in every revision that both speak, over
// the standard streams of a child and over HTTP. It is a module of its own, so
// that users do not inherit its dependencies.
package interop
