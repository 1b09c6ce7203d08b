function ReflectStatus(observedObj)
  local status = {}
  if observedObj.status ~= nil then
    status.observedGeneration = observedObj.status.observedGeneration
    status.lastScaleTime = observedObj.status.lastScaleTime
    status.currentReplicas = observedObj.status.currentReplicas
    status.desiredReplicas = observedObj.status.desiredReplicas
    status.currentMetrics = observedObj.status.currentMetrics
    status.conditions = observedObj.status.conditions
    status.currentCPUUtilizationPercentage = observedObj.status.currentCPUUtilizationPercentage
  end
  status.generation = observedObj.metadata.generation
  status.minReplicas = observedObj.spec.minReplicas
  status.maxReplicas = observedObj.spec.maxReplicas
  if observedObj.metadata.annotations ~= nil then
    status.writeID = observedObj.metadata.annotations["fhpa.karmada.io/write-id"]
    status.autoscalingV1Metrics = observedObj.metadata.annotations["autoscaling.alpha.kubernetes.io/current-metrics"]
    status.autoscalingV1Conditions = observedObj.metadata.annotations["autoscaling.alpha.kubernetes.io/conditions"]
  end
  return status
end
