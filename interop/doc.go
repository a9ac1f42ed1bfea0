// Package interop tests the clients and servers of this module and of the official Go SDK with each
// other, in every revision that both support, over the standard streams of a child process and over
// HTTP. It is a separate module, so that users do not inherit its dependencies. It has tests, and
// the program ports, which moves servers from mcp-go to this module.
package interop
