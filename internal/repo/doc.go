// Package repo tests the shape of the repository: which package imports which,
// that every exported name has a text, and what no file may hold. It has no
// code of its own.
package repo
