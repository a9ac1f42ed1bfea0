// Package repo tests the repository as a whole: the packages that each package may import, the
// comments of exported names, the snippets, links and tables of the pages, the subjects of commits,
// and texts that no file may contain. It has tests only.
package repo
