function ReflectStatus(observedObj)
  local status = {}
  if observedObj.status ~= nil then
    status.observedGeneration = observedObj.status.observedGeneration
    status.lastScaleTime = observedObj.status.lastScaleTime
    status.currentReplicas = observedObj.status.currentReplicas
    status.desiredReplicas = observedObj.status.desiredReplicas
    status.currentMetrics = observedObj.status.currentMetrics
    status.conditions = observedObj.status.conditions
  end
  status.generation = observedObj.metadata.generation
  status.minReplicas = observedObj.spec.minReplicas
  status.maxReplicas = observedObj.spec.maxReplicas
  if observedObj.metadata.annotations ~= nil then
    status.write = observedObj.metadata.annotations["autoscaling.karmada.io/write"]
  end
  return status
end
