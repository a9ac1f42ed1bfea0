// Package acceptance tests the module as programs use it: mcpserver and mcpclient, over every transport
// and in every revision. Each message on the wire is validated with its schema. It has tests only.
package acceptance
