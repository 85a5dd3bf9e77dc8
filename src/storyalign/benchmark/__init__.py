"""StoryRMB: from premises to instances with a chosen story (section 2)."""
