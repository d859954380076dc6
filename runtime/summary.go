package runtime

// Summary is the run as a list shows it.
func (c *Checkpoint) Summary() Summary {
	return Summary{
		Run: c.Run, ExternalID: c.ExternalID, Title: c.Title, Labels: c.Labels, Workflow: c.Workflow, Seq: c.Seq,
		State: c.State, Reasons: c.Reasons, ResumeFrom: c.ResumeFrom, Started: c.Started, Updated: c.Updated,
	}
}
