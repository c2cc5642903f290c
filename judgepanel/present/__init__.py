"""Results as blocks: what pages, reports and the terminal show for every study."""
