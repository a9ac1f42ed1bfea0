// Package docs is the home of the code in the pages beside it. It has tests
// only, which show that what the pages say compiles, and does what they say.
package docs
