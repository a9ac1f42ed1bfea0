package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	values "github.com/mcpwright/mcp/cmd/mcpwright/internal/arguments"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/wire"
)

// answers answers the questions of a server: from a file, or by asking the person at the terminal.
type answers struct {
	file string
}

func (a *answers) define(fs *flag.FlagSet) {
	fs.StringVar(&a.file, "answer", "", "answer the questions of the server from this JSON `file`: a result, or an array of results that are used in turn")
}

// options returns the options of a client that can answer. Without a file and a person, the client
// declares that it cannot be asked.
func (a *answers) options(e *environment) (*mcpclient.Options, error) {
	opts := new(mcpclient.Options)
	switch {
	case a.file != "":
		f, err := readAnswers(a.file)
		if err != nil {
			return nil, &usageError{err}
		}
		opts.OnElicit, opts.ElicitURLs, opts.OnCreateMessage, opts.OnListRoots = f.elicit, true, f.createMessage, f.listRoots
	case e.interactive:
		p := &person{e: e}
		opts.OnElicit, opts.ElicitURLs = p.elicit, true
	}
	return opts, nil
}

// answerFile has the results of a file that are not used yet.
type answerFile struct {
	path    string
	mu      sync.Mutex // guards results
	results []json.RawMessage
}

func readAnswers(path string) (*answerFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	f := &answerFile{path: path}
	if json.Unmarshal(data, &f.results) != nil {
		f.results = []json.RawMessage{data}
	}
	for i, r := range f.results {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(r, &members); err != nil {
			return nil, fmt.Errorf("read answers: entry %d of %q is not a JSON object: %w", i, path, err)
		}
	}
	return f, nil
}

// take decodes the first result that has a member, and removes it.
func (f *answerFile) take(question, member string, into wire.Value) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range f.results {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(r, &members); err != nil || members[member] == nil {
			continue
		}
		f.results = append(f.results[:i:i], f.results[i+1:]...)
		if err := wire.Unmarshal(r, into); err != nil {
			return fmt.Errorf("an answer to %q in %q is invalid: %w", question, f.path, err)
		}
		return nil
	}
	return fmt.Errorf("%q has no answer to %q, which is an object with the member %q", f.path, question, member)
}

func (f *answerFile) elicit(_ context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	res := new(mcp.ElicitResult)
	return res, f.take(mcp.MethodElicit, "action", res)
}

func (f *answerFile) createMessage(_ context.Context, _ *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	res := new(mcp.CreateMessageResult)
	return res, f.take(mcp.MethodCreateMessage, "content", res)
}

func (f *answerFile) listRoots(_ context.Context, _ *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	res := new(mcp.ListRootsResult)
	return res, f.take(mcp.MethodListRoots, "roots", res)
}

// person asks the person at the terminal. One question is asked at a time.
type person struct {
	e     *environment
	mu    sync.Mutex
	lines chan line
}

type line struct {
	text string
	err  error
}

// errEnd is the error if the person ends the input.
var errEnd = errors.New("the input has ended")

// read reads a line. The goroutine that reads standard input ends with the input, or with the
// program.
func (p *person) read(ctx context.Context) (string, error) {
	if p.lines == nil {
		p.lines = make(chan line)
		go func() {
			r := bufio.NewReader(p.e.stdin)
			for {
				text, err := r.ReadString('\n')
				p.lines <- line{strings.TrimRight(text, "\r\n"), err}
				if err != nil {
					return
				}
			}
		}()
	}
	select {
	case l := <-p.lines:
		if l.err != nil && (l.text == "" || !errors.Is(l.err, io.EOF)) {
			return "", errEnd
		}
		return l.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// elicit shows a form or a URL. The end of the input (Ctrl-D) cancels the question.
func (p *person) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.e.errs.Println()
	var res *mcp.ElicitResult
	var err error
	switch params := req.Params.(type) {
	case *mcp.ElicitRequestFormParams:
		res, err = p.form(ctx, params)
	case *mcp.ElicitRequestURLParams:
		res, err = p.url(ctx, params)
	default:
		return nil, fmt.Errorf("unknown kind of question %T", params)
	}
	if errors.Is(err, errEnd) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionCancel}, nil
	}
	return res, err
}

func (p *person) form(ctx context.Context, params *mcp.ElicitRequestFormParams) (*mcp.ElicitResult, error) {
	out := p.e.errs
	out.Paragraph("", "The server asks: "+params.Message)
	content := make(map[string]any)
	for _, field := range params.RequestedSchema.Properties {
		value, err := p.field(ctx, field, isRequired(params, field.Name))
		if err != nil {
			return nil, err
		}
		if value != nil {
			content[field.Name] = value
		}
	}
	out.Printf("Send this? [Y]es, [n]o (decline): ")
	answer, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.ToLower(answer), "n") {
		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}, nil
}

func isRequired(params *mcp.ElicitRequestFormParams, name string) bool {
	for _, required := range params.RequestedSchema.Required {
		if required == name {
			return true
		}
	}
	return false
}

// field asks for one value until it is valid. It returns nil for none.
func (p *person) field(ctx context.Context, field mcp.FormField, required bool) (any, error) {
	schema, err := json.Marshal(field.Schema)
	if err != nil {
		return nil, err
	}
	d := values.Describe(field.Name, schema)
	out := p.e.errs
	if d.Description != "" {
		out.Paragraph("  ", d.Description)
	}
	for i, choice := range d.Choices {
		out.Printf("    %d) %s\n", i+1, choice)
	}
	for {
		out.Printf("  %s", prompt(d, required))
		text, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		if text == "" {
			if d.Default != "" {
				var preset any
				return preset, json.Unmarshal([]byte(d.Default), &preset)
			}
			if !required {
				return nil, nil
			}
		}
		value, err := values.Value(schema, chosen(d.Choices, text))
		if err == nil && (text != "" || !required) {
			return number(value), nil
		}
		if text == "" {
			err = errors.New("a value is required")
		}
		out.Printf("  %v\n", err)
	}
}

// number returns a number as the type that a form accepts, and other values as they are.
func number(value any) any {
	n, ok := value.(json.Number)
	if !ok {
		return value
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64()
	return f
}

func prompt(d values.Property, required bool) string {
	text := d.Name
	if d.Title != "" {
		text = d.Title
	}
	text += " (" + d.Type
	if !required {
		text += ", optional"
	}
	text += ")"
	if d.Default != "" {
		text += " [" + d.Default + "]"
	}
	return text + ": "
}

// chosen replaces the numbers of choices by the choices.
func chosen(choices []string, text string) string {
	words := strings.Split(text, ",")
	for i, word := range words {
		var n int
		if _, err := fmt.Sscanf(strings.TrimSpace(word)+" ", "%d ", &n); err == nil && n >= 1 && n <= len(choices) && fmt.Sprint(n) == strings.TrimSpace(word) {
			words[i] = choices[n-1]
		}
	}
	return strings.Join(words, ",")
}

func (p *person) url(ctx context.Context, params *mcp.ElicitRequestURLParams) (*mcp.ElicitResult, error) {
	out := p.e.errs
	out.Paragraph("", "The server asks you to visit a page: "+params.Message)
	out.Printf("  %s\nOpen it in the browser? [y]es, [N]o (decline): ", params.URL)
	answer, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
	}
	if err := p.e.openBrowser(params.URL); err != nil {
		out.Printf("The browser did not open (%v). Visit the page yourself.\n", err)
	}
	return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
}
