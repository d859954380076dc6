package mutations_test

// rule is a safety rule and what removes it.
type rule struct {
	name  string
	edits []edit
	// red are the tests that must fail without the rule.
	red []guard
}

// edit replaces a text that a file of the module has exactly once.
type edit struct{ file, old, new string }

// guard is a test of a package, and the flags that it takes.
type guard struct {
	pkg, test string
	flags     []string
}

// on is a guard without flags.
func on(pkg, test string) guard { return guard{pkg: pkg, test: test} }

// power is the model of random workflows whose power is cut. Each rule that it
// guards takes it some hundreds of crashes at most.
var power = guard{"runtime/proof/power", "TestPowerCuts", []string{"-crashes", "2500", "-rapid.shrinktime", "1s", "-rapid.nofailfile"}}

var rules = []rule{
	{
		name: "the intent is durable before anything is sent",
		edits: []edit{{
			"host/sending.go",
			"func (p *pursuit) waits() bool { return p.contract.Effect != Read || p.contract.Charged() }",
			"func (p *pursuit) waits() bool { return false }",
		}},
		red: []guard{on("host", "TestNothingIsSentBeforeItsRecordIsDurable"), power},
	},
	{
		name: "the receipt comes before the checkpoint",
		edits: []edit{
			{"runtime/internal/journal/state.go", "		if c.Receipt == nil {\n			return fmt.Errorf(\"step %d ended while", "		if c == nil {\n			return fmt.Errorf(\"step %d ended while"},
			{
				"runtime/internal/journal/ledger.go", "	r := l.run\n	answered, durable := l.event(Answered), l.event(ReceiptDurable)",
				"	if rec.Outcome == host.OutcomeApplied && l.contract.Effect != host.Read && l.call.Try > 0 {\n" +
					"		late := *l\n		late.call = &host.Call{}\n		*late.call = *l.call\n		late.call.Try = 0\n" +
					"		time.AfterFunc(50*time.Millisecond, func() { _ = late.Settle(context.Background(), rec) })\n		return nil\n	}\n" +
					"	r := l.run\n	answered, durable := l.event(Answered), l.event(ReceiptDurable)",
			},
		},
		red: []guard{on("runtime/internal/journal", "TestRecordsThatContradictEachOther"), power},
	},
	{
		name:  "a new owner raises the epoch",
		edits: []edit{{"kv/takeover.go", "		c.head.Epoch++\n", ""}},
		red:   []guard{on("kv/kvtest", "TestConformance")},
	},
	{
		name:  "the intent holds the charge",
		edits: []edit{{"runtime/internal/journal/state.go", "		c.inherit(st.Calls[r.Call])\n	}\n	s.Used.Calls++\n", "		c.inherit(st.Calls[r.Call])\n	}\n"}},
		red:   []guard{on("runtime/internal/journal", "TestChargesOfRecords"), power},
	},
	{
		name:  "the occurrence is in the key",
		edits: []edit{{"host/key.go", "	f.add(binary.BigEndian.AppendUint32(nil, in.Occurrence))\n", ""}},
		red:   []guard{on("host", "TestEveryFieldChangesTheKey"), on("runtime", "TestKeysOfCalls"), power},
	},
	{
		name:  "a further attempt claims what is there",
		edits: []edit{{"runtime/internal/journal/claim.go", "		if c.Same(tool, hash, occurrence) {\n			return c", "		if false {\n			return c"}},
		red:   []guard{on("runtime", "TestAttemptsThatGoAnotherWay"), power},
	},
	{
		name:  "claims are made in their old order",
		edits: []edit{{"runtime/internal/journal/claim.go", "		if d.Claimed && d.Stands() && c.before(d) {", "		if false {"}},
		red:   []guard{on("runtime", "TestAttemptsThatGoAnotherWay")},
	},
	{
		name:  "no step ends with an orphan",
		edits: []edit{{"runtime/internal/journal/claim.go", "		if c.Stands() {\n			orphans", "		if false {\n			orphans"}},
		red:   []guard{on("runtime", "TestAttemptsThatGoAnotherWay"), power},
	},
	{
		name:  "an absent counts only after the settle time",
		edits: []edit{{"host/inquiry.go", "		settled := !live && time.Now().After(quiet)", "		settled := !live || time.Now().After(quiet)"}},
		red:   []guard{on("host", "TestDo"), on("host", "TestNoEffectHappensTwice"), power},
	},
	{
		name:  "a key is not used after its window",
		edits: []edit{{"host/inquiry.go", "	return -window/10 <= age && age <= window-reserve", "	return reserve+age > 0"}},
		red:   []guard{on("host", "TestDo"), on("runtime", "TestPaymentWhoseKeyTheReceiverMayHaveForgotten"), power},
	},
	{
		name: "every batch of a run requires the head",
		edits: []edit{{
			"kv/chain.go", "	b.Require(headKey(c.prefix), c.head.encode())\n}", "}",
		}},
		red: []guard{on("kv/kvtest", "TestConformance"), on("runtime", "TestTwoEnginesOneRun"), power},
	},
	{
		name:  "a store behind its anchor is held",
		edits: []edit{{"kv/badger.go", "	if last < s.anchor.number {", "	if false {"}},
		red:   []guard{on("kv", "TestStoreThatLacksItsLastCommitsIsHeld")},
	},
	{
		name:  "a failed commit poisons the handle",
		edits: []edit{{"kv/life.go", "	if l.broken.CompareAndSwap(nil, &err) {\n		l.logger.Error(\"store broken\", attrDir, l.dir, attrError, cause)\n	}\n	return l.health()", "	return err"}},
		red:   []guard{on("kv", "TestFailedCommitPoisonsTheHandle")},
	},
	{
		name: "every record has a checksum",
		edits: []edit{{
			"kv/record.go", "	if binary.BigEndian.Uint32(stored[1:]) != recordSum(version, key, rest) {", "	if false {",
		}},
		red: []guard{on("kv", "TestDamagedRecordIsNoticed")},
	},
}
