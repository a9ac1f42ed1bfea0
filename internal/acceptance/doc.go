// Package acceptance holds the promises of the module against what a program
// sees that uses it: both kits, every transport, every era, with each message on
// the wire judged by its schema. It has tests only.
package acceptance
