// Package docs contains the tests of the code in the pages of this folder. Complete programs of the
// pages are in testdata.
package docs
