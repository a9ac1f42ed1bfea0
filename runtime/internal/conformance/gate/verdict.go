package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A verdict is what the gate thinks of a leg.
type verdict struct {
	leg       leg
	scenarios []judged
	ignored   int
}

// judged is a scenario with what is wrong about it.
type judged struct {
	name   string
	report report
	wrong  []string
}

// judge compares the reports of a leg with what is expected of it.
func (e *expectations) judge(l leg, found map[string]report) verdict {
	v := verdict{leg: l}
	names := slices.Collect(maps.Keys(l.Checks))
	for name := range found {
		if _, known := l.Checks[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if covered(e.Ignored, name, "") {
			v.ignored++
			continue
		}
		r, ran := found[name]
		v.scenarios = append(v.scenarios, judged{name, r, e.wrong(l, name, r, ran)})
	}
	return v
}

func (e *expectations) wrong(l leg, name string, r report, ran bool) []string {
	if !ran {
		return []string{"the suite did not run it"}
	}
	var list []string
	least, known := l.Checks[name]
	if !known {
		list = append(list, "expect.json does not know it")
	}
	for _, c := range r.checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" && !covered(e.Warnings, name, c.ID) {
			list = append(list, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.Message))
		}
	}
	if n := r.count("SUCCESS"); n < least {
		list = append(list, fmt.Sprintf("%d successful checks, wanted %d", n, least))
	}
	if l.Side == "client" && r.exit != "0" && !(r.exit != "" && covered(e.Exits, name, "")) {
		list = append(list, "the client's exit status was "+exitText(r.exit))
	}
	return list
}

func (v verdict) complaints() int {
	n := 0
	for _, s := range v.scenarios {
		n += len(s.wrong)
	}
	return n
}

// print writes one line for a leg that is well, and a table otherwise.
func (v verdict) print(w io.Writer) {
	good, checks := 0, 0
	for _, s := range v.scenarios {
		checks += s.report.count("SUCCESS")
		if len(s.wrong) == 0 {
			good++
		}
	}
	fmt.Fprintf(w, "%-18s %3d of %3d scenarios, %4d checks, %d ignored\n", v.leg, good, len(v.scenarios), checks, v.ignored)
	for _, s := range v.scenarios {
		if len(s.wrong) > 0 {
			fmt.Fprintf(w, "  %s\n    %s\n", s.name, strings.Join(s.wrong, "\n    "))
		}
	}
}

func exitText(exit string) string {
	if exit == "" {
		return "never seen: it hung, or was not started"
	}
	return exit
}
