package config

import (
	"fmt"
	"strings"
)

// Reference returns the options of the program as Markdown: under which names, with which default, and what
// they mean.
func (p *Program) Reference() (string, error) {
	k, err := p.kong()
	if err != nil {
		return "", err
	}
	all := make(map[string]*option)
	for _, o := range p.options() {
		all[o.Name] = o
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", p.Name)
	for _, g := range groupsOf(k.Model.Flags) {
		if g.title == "" {
			g.title = "About the program"
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n| Option | In a file | Variable | Default | |\n|---|---|---|---|---|\n", p.Name, lowerFirst(g.title))
		for _, f := range g.flags {
			o := all[f.Name]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(usage(f)), code(o.key), code(o.Env),
				code(o.Default), cell(f.Help))
		}
	}
	return b.String(), nil
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

// cell writes text into a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(s)
}
