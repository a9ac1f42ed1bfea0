package main

import (
	"strings"
	"testing"
)

func TestTheModelOfTheFiveRevisionsIsKnown(t *testing.T) {
	var dump strings.Builder
	model(t, 5).Dump(&dump)
	golden(t, "internal/ir/testdata/model.txt", dump.String())
}
