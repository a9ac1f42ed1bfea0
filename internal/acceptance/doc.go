// Package acceptance tests the module as programs use it: both kits over every transport and in
// every revision, with each message on the wire validated by its schema. It has tests only.
package acceptance
