package check

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

// sarifObject is a JSON object of a SARIF document.
type sarifObject = map[string]any

// WriteSARIF writes the report as SARIF 2.1.0. All findings are in one file, because code
// scanning requires a place in the repository.
func (r *Report) WriteSARIF(w io.Writer, file string) error {
	rules, index := []sarifObject{}, map[string]int{}
	for i, c := range r.cases {
		index[c.ID] = i
		revisions := c.Revisions()
		newest := revisions[len(revisions)-1]
		rule, _ := c.rule(newest)
		rules = append(rules, sarifObject{
			"id": c.ID, "shortDescription": sarifObject{"text": c.Title}, "help": sarifObject{"text": c.Advice},
			"helpUri": rule.URL(newest), "defaultConfiguration": sarifObject{"level": c.Severities()[0].String()},
		})
	}
	results := []sarifObject{}
	for _, f := range r.Findings {
		results = append(results, f.sarif(index[f.ID], file))
	}
	return writeJSON(w, sarifObject{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []sarifObject{{
			"tool":    sarifObject{"driver": sarifObject{"name": "mcpwright", "informationUri": "https://github.com/mcpwright/mcp", "rules": rules}},
			"results": results, "columnKind": "unicodeCodePoints",
		}},
	})
}

// sarif returns the result for a finding.
func (f *Finding) sarif(rule int, file string) sarifObject {
	lines := []string{f.Problem + " (revision " + f.Revision + ").", f.Advice, "Rule: " + f.Rule}
	if f.Message != "" {
		lines = append(lines, "Message: "+f.Message)
	}
	print := sha256.Sum256([]byte(strings.Join([]string{f.ID, f.Revision, f.Pointer, f.Problem}, "\x00")))
	return sarifObject{
		"ruleId": f.ID, "ruleIndex": rule, "level": f.Severity.String(),
		"message": sarifObject{"text": strings.Join(lines, "\n")},
		"locations": []sarifObject{{
			"physicalLocation": sarifObject{"artifactLocation": sarifObject{"uri": file}, "region": sarifObject{"startLine": 1}},
			"logicalLocations": []sarifObject{{"fullyQualifiedName": cmp.Or(f.Pointer, "/"), "kind": "value"}},
		}},
		"partialFingerprints": sarifObject{"mcpwright/v1": fmt.Sprintf("%x", print[:16])},
		"properties":          sarifObject{"revision": f.Revision, "pointer": f.Pointer},
	}
}
