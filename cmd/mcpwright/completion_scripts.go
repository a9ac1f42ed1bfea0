package main

// completionScripts are the scripts of the subcommand completion. Each runs the hidden subcommand
// with the words up to the cursor, and quotes what it inserts.
var completionScripts = map[string]string{
	"bash": `_mcpwright() {
	local line=${COMP_LINE:0:COMP_POINT} words cur prefix candidate
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cur=${words[${#words[@]}-1]}
	# bash replaces only what follows the last = or : of a word.
	prefix=${cur%"${cur##*[=:]}"}
	COMPREPLY=()
	while IFS=$'\t' read -r candidate _; do
		[[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
		COMPREPLY+=("$(printf %q "${candidate#"$prefix"}")")
	done < <("${COMP_WORDS[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _mcpwright mcpwright
`,
	"zsh": `_mcpwright() {
	local line value
	local -a names shown open openshown
	for line in "${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		[[ -n $line ]] || continue
		value=${line%%$'\t'*}
		if [[ $value == *= ]]; then
			open+=("$value") openshown+=("${line/$'\t'/  }")
		else
			names+=("$value") shown+=("${line/$'\t'/  }")
		fi
	done
	if (( ! $#names && ! $#open )); then
		_files
		return
	fi
	(( $#names )) && compadd -l -d shown -- "${names[@]}"
	(( $#open )) && compadd -S '' -l -d openshown -- "${open[@]}"
	return 0
}
(( $+functions[compdef] )) && compdef _mcpwright mcpwright
`,
	"fish": `function __mcpwright_complete
	set -l words (commandline -opc) (commandline -ct)
	command $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c mcpwright -f -a '(__mcpwright_complete)'
`,
}
