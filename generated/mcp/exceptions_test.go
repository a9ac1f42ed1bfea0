package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// exceptions is the whole list of the ways in which the decoder reads a
// document otherwise than its schema says, each with an example.
var exceptions = []struct {
	exception
	name, why  string
	revision   wire.Revision
	definition string
	document   string
	accepted   bool
}{
	{unknownArm, "unknown discriminator",
		"a union keeps a member that the revision does not know as Unknown…, with its raw JSON",
		Revision20241105, "PromptMessage", `{"role":"user","content":{"type":"audio"}}`, true},
	{mostSpecificArm, "most specific arm",
		"where one discriminator stands for several types, the members present choose the one that judges",
		Revision20251125, "PrimitiveSchemaDefinition", `{"type":"string","oneOf":5}`, false},
	{missingDefault, "missing default",
		"resultType, ttlMs and cacheScope may be missing: servers forget them, and they have a safe default",
		Revision20260728, "CacheableResult", `{}`, true},
	{nullIsAbsent, "null is absent",
		"a null nextCursor ends a list, null arguments are none: servers and clients in other languages write them",
		Revision20250618, "ListToolsResult", `{"tools":[],"nextCursor":null}`, true},
	{anyServerInfo, "any serverInfo",
		"serverInfo in a result's _meta is for display only; a bad one must not fail the result",
		Revision20260728, "ResultMetaObject", `{"io.modelcontextprotocol/serverInfo":5}`, true},
	{strictBase64, "strict base64",
		"the schema says format: byte, which no validator judges; the decoder does",
		Revision20250326, "AudioContent", `{"type":"audio","mimeType":"","data":"AB=="}`, false},
	{plainIDs, "plain ids",
		"an id is kept digit for digit: 1.0 and 1e0, integers to a schema, are refused, and more than 128 bytes",
		Revision20250326, "RequestId", `1.0`, false},
	{longIntegers, "long integers",
		"integers are int64 in Go; beyond that is an error, not a rounding",
		Revision20251125, "TaskMetadata", `{"ttl":9223372036854775808}`, false},
	{roundedBounds, "rounded bounds",
		"numbers are float64 in Go, and it is that number which is within bounds",
		Revision20250326, "Annotations", `{"priority":1.0000000000000000001}`, true},
	{rawSchemas, "raw schemas",
		"the schemas of a tool are objects kept byte for byte; what is in them is judged at registration",
		Revision20241105, "Tool", `{"name":"","inputSchema":{}}`, true},
	{embeddedMeta, "embedded _meta",
		"2026-07-28 has a _meta without structure in the embedded roots/list, which stays in Extra unjudged",
		Revision20260728, "ListRootsRequest", `{"method":"roots/list","params":{"_meta":5}}`, true},
	{questions, "questions",
		"a result that asks for input is read as InputRequiredResult and comes as an error, which questions_test.go is about",
		Revision20260728, "CallToolResult", `{"content":[],"resultType":"input_required"}`, false},
	{anyCacheHint | missingDefault, "any cache hint",
		"a bad ttlMs or cacheScope counts as a missing one: a hint must not fail the result",
		Revision20260728, "CacheableResult", `{"resultType":"complete","ttlMs":-1,"cacheScope":"private"}`, true},
	{missingText, "missing text",
		"contents of a resource without text or blob are an empty text: the SDK for Go leaves that out",
		Revision20250618, "TextResourceContents", `{"uri":"file:///empty"}`, true},
	{missingText | mostSpecificArm, "missing text in a union",
		"the same where they may be either",
		Revision20251125, "ReadResourceResult", `{"contents":[{"uri":"file:///empty"}]}`, true},
}

// keptAsTheyAre are the exceptions that also what is written may make use of:
// what a peer sent in these places goes out as it came.
const keptAsTheyAre = unknownArm | mostSpecificArm | rawSchemas | embeddedMeta

func TestEveryExceptionApplies(t *testing.T) {
	var all exception
	for _, e := range exceptions {
		all |= e.exception
		x := newTrial(subjectFor(e.revision, e.definition), []byte(e.document))
		_, err := x.subject.decode(x.text)
		require.Equal(t, e.accepted, err == nil, "%s: %v", e.name, err)
		require.Equal(t, e.accepted, x.verdict(e.exception) == nil, "%s: the exception explains the verdict", e.name)
		require.Equal(t, e.accepted, x.verdict(0) != nil, "%s: the schema says otherwise; if not, there is no exception", e.name)
	}
	require.Equal(t, allExceptions, all)
}
