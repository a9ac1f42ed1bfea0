package validate

import (
	"strings"
	"sync"
)

// dialect is a version of JSON Schema.
type dialect uint8

const (
	noDialect dialect = iota
	draft4
	draft6
	draft7
	draft2019
	draft2020
)

// dialectOf returns the dialect whose meta-schema has a URL, or noDialect.
func dialectOf(url string) dialect {
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), "#") // some schemas end it with #/
	rest, found := strings.CutPrefix(url, "https://json-schema.org/")
	if !found {
		rest, found = strings.CutPrefix(url, "http://json-schema.org/")
	}
	if !found {
		return noDialect
	}
	switch rest {
	case "draft-04/schema":
		return draft4
	case "draft-06/schema":
		return draft6
	case "draft-07/schema":
		return draft7
	case "draft/2019-09/schema":
		return draft2019
	case "draft/2020-12/schema", "schema":
		return draft2020
	}
	return noDialect
}

// keyword is a member of a schema that has a meaning.
type keyword uint8

const (
	noKeyword keyword = iota
	kwAdditionalItems
	kwAdditionalProperties
	kwAllOf
	kwAnchor
	kwAnyOf
	kwComment
	kwConst
	kwContains
	kwContentEncoding
	kwContentMediaType
	kwContentSchema
	kwDefinitions
	kwDefs
	kwDependencies
	kwDependentRequired
	kwDependentSchemas
	kwDeprecated
	kwDescription
	kwDynamicAnchor
	kwDynamicRef
	kwElse
	kwEnum
	kwExamples
	kwExclusiveMaximum
	kwExclusiveMinimum
	kwFormat
	kwID
	kwIf
	kwItems
	kwMaxContains
	kwMaxItems
	kwMaxLength
	kwMaxProperties
	kwMaximum
	kwMinContains
	kwMinItems
	kwMinLength
	kwMinProperties
	kwMinimum
	kwMultipleOf
	kwNot
	kwOldID
	kwOneOf
	kwPattern
	kwPatternProperties
	kwPrefixItems
	kwProperties
	kwPropertyNames
	kwReadOnly
	kwRecursiveAnchor
	kwRecursiveRef
	kwRef
	kwRequired
	kwSchema
	kwThen
	kwTitle
	kwType
	kwUnevaluatedItems
	kwUnevaluatedProperties
	kwUniqueItems
	kwVocabulary
	kwWriteOnly
	keywordCount
)

// shape is the form that the value of a keyword must have.
type shape uint8

const (
	noShape          shape = iota // not a keyword of the dialect
	shapeText                     // a string
	shapeReference                // a URI reference
	shapeID                       // a URI reference without a fragment
	shapeURI                      // an absolute URI
	shapeAnchor                   // the name of an anchor
	shapePattern                  // a regular expression
	shapeBoolean                  // true or false
	shapeNumber                   // a number
	shapePositive                 // a number above 0
	shapeCount                    // an integer of at least 0
	shapeList                     // an array
	shapeEnum                     // an array of different values, at least one
	shapeNames                    // an array of different strings
	shapeSomeNames                // an array of different strings, at least one
	shapeTypes                    // the name of a type, or an array of these
	shapeSchema                   // a schema
	shapeSchemas                  // an array of schemas, at least one
	shapeSchemaOrAny              // a schema, or a boolean in draft-04
	shapeItems                    // a schema or an array of schemas
	shapeMap                      // an object of schemas
	shapePatternMap               // an object of schemas, whose names are regular expressions
	shapeNamesMap                 // an object of shapeNames
	shapeEither                   // an object of schemas or of names
	shapeVocabulary               // an object of booleans, whose names are URIs
)

// group is a set of groups of keywords that are compiled together.
type group uint8

const (
	forAll group = 1 << iota // for values of all types
	forNumbers
	forTexts
	forArrays
	forObjects
	forLogic
	forRefs
)

// keywords contains the name of each keyword, its dialects, its shape there and its
// group.
var keywords = [keywordCount]struct {
	name        string
	first, last dialect
	shape       shape
	group       group
}{
	kwAdditionalItems:       {"additionalItems", draft4, draft2019, shapeSchemaOrAny, forArrays},
	kwAdditionalProperties:  {"additionalProperties", draft4, draft2020, shapeSchemaOrAny, forObjects},
	kwAllOf:                 {"allOf", draft4, draft2020, shapeSchemas, forLogic},
	kwAnchor:                {"$anchor", draft2019, draft2020, shapeAnchor, 0},
	kwAnyOf:                 {"anyOf", draft4, draft2020, shapeSchemas, forLogic},
	kwComment:               {"$comment", draft7, draft2020, shapeText, 0},
	kwConst:                 {"const", draft6, draft2020, noShape, forAll},
	kwContains:              {"contains", draft6, draft2020, shapeSchema, forArrays},
	kwContentEncoding:       {"contentEncoding", draft7, draft2020, shapeText, forTexts},
	kwContentMediaType:      {"contentMediaType", draft7, draft2020, shapeText, forTexts},
	kwContentSchema:         {"contentSchema", draft2019, draft2020, shapeSchema, 0},
	kwDefinitions:           {"definitions", draft4, draft2020, shapeMap, 0},
	kwDefs:                  {"$defs", draft2019, draft2020, shapeMap, 0},
	kwDependencies:          {"dependencies", draft4, draft2020, shapeEither, forObjects},
	kwDependentRequired:     {"dependentRequired", draft2019, draft2020, shapeNamesMap, forObjects},
	kwDependentSchemas:      {"dependentSchemas", draft2019, draft2020, shapeMap, forObjects},
	kwDeprecated:            {"deprecated", draft2019, draft2020, shapeBoolean, 0},
	kwDescription:           {"description", draft4, draft2020, shapeText, 0},
	kwDynamicAnchor:         {"$dynamicAnchor", draft2020, draft2020, shapeAnchor, 0},
	kwDynamicRef:            {"$dynamicRef", draft2020, draft2020, shapeReference, forRefs},
	kwElse:                  {"else", draft7, draft2020, shapeSchema, forLogic},
	kwEnum:                  {"enum", draft4, draft2020, shapeList, forAll},
	kwExamples:              {"examples", draft7, draft2020, shapeList, 0},
	kwExclusiveMaximum:      {"exclusiveMaximum", draft4, draft2020, shapeNumber, forNumbers},
	kwExclusiveMinimum:      {"exclusiveMinimum", draft4, draft2020, shapeNumber, forNumbers},
	kwFormat:                {"format", draft4, draft2020, shapeText, 0},
	kwID:                    {"$id", draft6, draft2020, shapeReference, 0},
	kwIf:                    {"if", draft7, draft2020, shapeSchema, forLogic},
	kwItems:                 {"items", draft4, draft2020, shapeItems, forArrays},
	kwMaxContains:           {"maxContains", draft2019, draft2020, shapeCount, forArrays},
	kwMaxItems:              {"maxItems", draft4, draft2020, shapeCount, forArrays},
	kwMaxLength:             {"maxLength", draft4, draft2020, shapeCount, forTexts},
	kwMaxProperties:         {"maxProperties", draft4, draft2020, shapeCount, forObjects},
	kwMaximum:               {"maximum", draft4, draft2020, shapeNumber, forNumbers},
	kwMinContains:           {"minContains", draft2019, draft2020, shapeCount, forArrays},
	kwMinItems:              {"minItems", draft4, draft2020, shapeCount, forArrays},
	kwMinLength:             {"minLength", draft4, draft2020, shapeCount, forTexts},
	kwMinProperties:         {"minProperties", draft4, draft2020, shapeCount, forObjects},
	kwMinimum:               {"minimum", draft4, draft2020, shapeNumber, forNumbers},
	kwMultipleOf:            {"multipleOf", draft4, draft2020, shapePositive, forNumbers},
	kwNot:                   {"not", draft4, draft2020, shapeSchema, forLogic},
	kwOldID:                 {"id", draft4, draft4, shapeReference, 0},
	kwOneOf:                 {"oneOf", draft4, draft2020, shapeSchemas, forLogic},
	kwPattern:               {"pattern", draft4, draft2020, shapePattern, forTexts},
	kwPatternProperties:     {"patternProperties", draft4, draft2020, shapePatternMap, forObjects},
	kwPrefixItems:           {"prefixItems", draft2020, draft2020, shapeSchemas, forArrays},
	kwProperties:            {"properties", draft4, draft2020, shapeMap, forObjects},
	kwPropertyNames:         {"propertyNames", draft6, draft2020, shapeSchema, forObjects},
	kwReadOnly:              {"readOnly", draft7, draft2020, shapeBoolean, 0},
	kwRecursiveAnchor:       {"$recursiveAnchor", draft2019, draft2020, shapeBoolean, forRefs},
	kwRecursiveRef:          {"$recursiveRef", draft2019, draft2020, shapeReference, forRefs},
	kwRef:                   {"$ref", draft4, draft2020, shapeReference, forRefs},
	kwRequired:              {"required", draft4, draft2020, shapeNames, forObjects},
	kwSchema:                {"$schema", draft4, draft2020, shapeURI, 0},
	kwThen:                  {"then", draft7, draft2020, shapeSchema, forLogic},
	kwTitle:                 {"title", draft4, draft2020, shapeText, 0},
	kwType:                  {"type", draft4, draft2020, shapeTypes, forAll},
	kwUnevaluatedItems:      {"unevaluatedItems", draft2019, draft2020, shapeSchema, forArrays},
	kwUnevaluatedProperties: {"unevaluatedProperties", draft2019, draft2020, shapeSchema, forObjects},
	kwUniqueItems:           {"uniqueItems", draft4, draft2020, shapeBoolean, forArrays},
	kwVocabulary:            {"$vocabulary", draft2019, draft2020, shapeVocabulary, 0},
	kwWriteOnly:             {"writeOnly", draft7, draft2020, shapeBoolean, 0},
}

// in reports whether the dialect has the keyword.
func (k keyword) in(d dialect) bool { return keywords[k].first <= d && d <= keywords[k].last }

// shape returns the shape of a keyword of the dialect.
func (k keyword) shape(d dialect) shape {
	switch k {
	case kwExclusiveMaximum, kwExclusiveMinimum:
		if d == draft4 {
			return shapeBoolean
		}
	case kwRequired:
		if d == draft4 {
			return shapeSomeNames
		}
	case kwRef:
		if d == draft4 {
			return shapeText
		}
	case kwEnum:
		if d <= draft7 {
			return shapeEnum
		}
	case kwID:
		if d >= draft2019 {
			return shapeID
		}
	case kwItems:
		if d == draft2020 {
			return shapeSchema
		}
	case kwRecursiveAnchor:
		if d == draft2020 {
			return shapeAnchor
		}
	}
	return keywords[k].shape
}

// keywordIndex contains the keywords by name. It is filled when it is first used.
var keywordIndex struct {
	once   sync.Once
	byName map[string]keyword
}

// keywordNames returns the keywords by name.
func keywordNames() map[string]keyword {
	keywordIndex.once.Do(func() {
		m := make(map[string]keyword, keywordCount)
		for k := noKeyword + 1; k < keywordCount; k++ {
			m[keywords[k].name] = k
		}
		keywordIndex.byName = m
	})
	return keywordIndex.byName
}

// simpleTypes are the names of types, with their sets.
var simpleTypes = [...]struct {
	name string
	set  typeSet
}{
	{"array", typeArray},
	{"boolean", typeBoolean},
	{"integer", typeInteger},
	{"null", typeNull},
	{"number", typeNumber},
	{"object", typeObject},
	{"string", typeString},
}

// typeSet is a set of types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeInteger
	typeNumber
	typeString
	typeArray
	typeObject
)

// typeNamed returns the type with a name, or 0.
func typeNamed(name string) typeSet {
	for i := range simpleTypes {
		if simpleTypes[i].name == name {
			return simpleTypes[i].set
		}
	}
	return 0
}

// types contains the type of each kind of value. A number may be an integer.
var types = [...]typeSet{typeNull, typeBoolean, typeBoolean, typeNumber, typeString, typeArray, typeObject}

// kindNames contains the name of the type of each kind of value.
var kindNames = [...]string{"null", "boolean", "boolean", "number", "string", "array", "object"}
