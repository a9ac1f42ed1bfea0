// Package check tests a server of the Model Context Protocol, in any language, by its
// messages.
//
// [Run] connects once for each revision, uses what the server lists, validates each
// message, and then runs a table of [Cases]. Each case has a rule of the specification
// for the revisions that it applies to. A server needs no fixtures.
package check
