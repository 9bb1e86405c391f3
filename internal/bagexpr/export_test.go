package bagexpr

// RememberedTypes returns how many message types p remembers.
func RememberedTypes(p *Program) int { return len(p.types) }
